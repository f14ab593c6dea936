#pragma once

#include <catch2/catch.hpp>

#include "flowplan/catalog/catalog.hpp"

namespace flowplan::operations {

/// The shipped catalog, loaded once.
inline const catalog::Catalog& the_catalog() {
  static const auto loaded = catalog::Catalog::load(FLOWPLAN_SOURCE_DIR "/catalogs");
  INFO((loaded ? "" : render(loaded.error())));
  REQUIRE(loaded);
  return *loaded;
}

}  // namespace flowplan::operations
