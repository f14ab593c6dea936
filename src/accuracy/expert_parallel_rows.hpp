#pragma once

#include <cstddef>

#include "flowplan/accuracy/validate.hpp"

namespace flowplan::accuracy {

/// Whether a row of a collectives file is the dispatch or the combine of expert parallelism.
[[nodiscard]] bool is_expert_parallel(const CsvTable& table, std::size_t row);

/// Its time, or the bandwidth that its source printed. What a source does not state is that of the
/// benchmark that all of them run: DeepSeek-V3's 7168 elements and 8 of 256 experts.
[[nodiscard]] Row expert_parallel_row(const catalog::Catalog& catalog, const CsvTable& table,
                                      std::size_t row);

}  // namespace flowplan::accuracy
