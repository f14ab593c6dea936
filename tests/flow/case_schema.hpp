#pragma once

#include <string>

#include <catch2/catch.hpp>

#include "flowplan/base/json_document.hpp"

namespace flowplan::flow {

inline const JsonDocument& flow_case_schema() {
  static const JsonDocument schema = [] {
    auto read = JsonDocument::read(std::string(FLOWPLAN_SOURCE_DIR) +
                                   "/catalogs/schema/flow-case.schema.json");
    REQUIRE(read);
    return *read;
  }();
  return schema;
}

}  // namespace flowplan::flow
