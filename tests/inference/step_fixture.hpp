#pragma once

#include <string_view>

#include <catch2/catch.hpp>

#include "flowplan/catalog/catalog.hpp"
#include "flowplan/inference/step_model.hpp"

namespace flowplan::inference {

/// The catalog of the source tree, loaded once.
inline const catalog::Catalog& step_catalog() {
  static const auto loaded = catalog::Catalog::load(FLOWPLAN_SOURCE_DIR "/catalogs");
  if (!loaded) FAIL(render(loaded.error()));
  return *loaded;
}

inline const model::Transformer& known_model(std::string_view name) {
  const auto found = step_catalog().transformer(name);
  if (!found) FAIL(render(found.error()));
  return **found;
}

/// A set-up on nodes of an instance type with a model's usual formats.
inline StepSetup known_setup(std::string_view model, std::string_view instance, WeightFormat format,
                             const Layout& layout, std::string_view engine = "vllm") {
  StepSetup setup;
  const auto node = step_catalog().instance(instance);
  if (!node) FAIL(render(node.error()));
  setup.instance = *node;
  setup.model = &known_model(model);
  setup.layout = layout;
  setup.formats = usual_formats(*setup.model, format);
  const auto profile =
      engine_profile(step_catalog(), engine, step_catalog().gpu_of(**node).generation);
  if (!profile) FAIL(render(profile.error()));
  setup.engine = *profile;
  return setup;
}

inline Layout tensor_parallel(int tp) {
  Layout layout;
  layout.tp = tp;
  return layout;
}

}  // namespace flowplan::inference
