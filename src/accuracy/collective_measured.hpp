#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "flowplan/base/csv_table.hpp"
#include "flowplan/catalog/constants.hpp"
#include "flowplan/collective/operation.hpp"
#include "flowplan/collective/transfer.hpp"

namespace flowplan::accuracy {

/// What a row of a collectives file asks for, in the file's own words.
struct MeasuredCollective {
  std::string operation, gpu, system, fabric, nccl_version, choice, source, notes;
  int nodes = 0, gpus = 0;
  double size = 0;  ///< 0: not stated
  std::optional<double> time_us, algbw, busbw;

  [[nodiscard]] bool notes_say(std::string_view text) const;
};
[[nodiscard]] MeasuredCollective read_measured(const CsvTable& table, std::size_t row);

/// An algorithm that the run was told to use, or a ring where NCCL would have had others.
[[nodiscard]] std::optional<collective::Algorithm> forced_algorithm(const MeasuredCollective& row);
/// Channels that the run was told to use: "16 channels forced".
[[nodiscard]] std::optional<int> forced_channels(const MeasuredCollective& row);
/// What a row measures when it is no collective of NCCL's.
[[nodiscard]] std::optional<collective::Transfer> measured_transfer(const MeasuredCollective& row);
/// Figure of the stack that is what the script behind the row adds to every time, in us; empty: it
/// is nccl-tests' own. Never part of a prediction.
[[nodiscard]] std::string harness_figure(const MeasuredCollective& row,
                                         const catalog::Constants& stack);
/// "aws-ofi-nccl 1.7.3" in the notes: "1.7.3"; empty when it is not stated.
[[nodiscard]] std::string plugin_version(const MeasuredCollective& row);

}  // namespace flowplan::accuracy
