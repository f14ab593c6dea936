#pragma once

#include <string>

#include <catch2/catch.hpp>

#include "flowplan/base/json_document.hpp"
#include "flowplan/catalog/catalog.hpp"
#include "flowplan/scenario/scenario.hpp"

/// The catalog of the source tree, loaded once.
inline const flowplan::catalog::Catalog& real_catalog() {
  static const auto loaded = flowplan::catalog::Catalog::load(FLOWPLAN_SOURCE_DIR "/catalogs");
  INFO((loaded ? "" : flowplan::render(loaded.error())));
  REQUIRE(loaded);
  return *loaded;
}

inline flowplan::Result<flowplan::scenario::Scenario> read_text_scenario(const std::string& text) {
  static const auto schema =
      flowplan::JsonDocument::read(FLOWPLAN_SOURCE_DIR "/catalogs/schema/scenario.schema.json");
  REQUIRE(schema);
  const auto document = flowplan::JsonDocument::parse(text, "scenario.json");
  if (!document) return flowplan::fail(document.error());
  return flowplan::scenario::read(real_catalog(), *document, *schema);
}

inline flowplan::scenario::Scenario must_read(const std::string& text) {
  auto scenario = read_text_scenario(text);
  INFO((scenario ? "" : flowplan::render(scenario.error())));
  REQUIRE(scenario);
  return *scenario;
}

inline flowplan::Diagnostics faults_of(const std::string& text) {
  const auto scenario = read_text_scenario(text);
  REQUIRE(!scenario);
  return scenario.error();
}
