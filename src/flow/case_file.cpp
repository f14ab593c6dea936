#include "flowplan/flow/case_file.hpp"

#include <nlohmann/json.hpp>

#include "flowplan_case.hpp"
#include "oracle_case.hpp"

namespace flowplan::flow {

Result<Case> read_case(const JsonDocument& document, const JsonDocument& schema) {
  const auto& root = document.root();
  const auto format = root.is_object() ? root.find("format") : root.end();
  if (root.is_object() && format != root.end()) {
    if (*format == "flow-oracle-1") return read_oracle_case(document);
    if (*format == "flowplan-flow-1") return read_flowplan_case(document, schema);
  }
  return fail(error(Code::wrong_kind_of_file, document.place("/format"), "this is not a flow case",
                    "a flow case has \"format\": \"flowplan-flow-1\" or \"flow-oracle-1\""));
}

}  // namespace flowplan::flow
