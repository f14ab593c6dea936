#pragma once

#include <string>
#include <vector>

#include "flowplan/accuracy/validate.hpp"

namespace flowplan::accuracy {

/// Notes the errors that such a table (`validate` says which) has of these rows. Errors: FP016 for
/// a table without its columns, and those of CsvTable.
[[nodiscard]] Result<void> add_left_out(const std::string& path, std::vector<Row>& rows);

/// "runs-left-out.csv" of "runs.csv", where it is there; else empty.
[[nodiscard]] std::string left_out_beside(const std::string& path);

}  // namespace flowplan::accuracy
