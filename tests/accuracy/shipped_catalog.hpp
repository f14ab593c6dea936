#pragma once

#include <catch2/catch.hpp>

#include "flowplan/catalog/catalog.hpp"

namespace flowplan::accuracy {

/// The catalog of the source tree, loaded once.
inline const catalog::Catalog& shipped_catalog() {
  static const auto loaded = catalog::Catalog::load(FLOWPLAN_SOURCE_DIR "/catalogs");
  if (!loaded) FAIL(render(loaded.error()));
  return *loaded;
}

}  // namespace flowplan::accuracy
