#pragma once

#include <string>
#include <vector>

#include "flowplan/collective/custom_all_reduce.hpp"
#include "flowplan/collective/expert_parallel.hpp"
#include "flowplan/report/document.hpp"

namespace flowplan::report {

/// The all-reduce kernels of serving engines, size by size.
struct CustomAllReduceSweep {
  std::string instance;
  int ranks = 0;
  struct Line {
    Bytes size{};
    collective::CustomAllReduce outcome;
  };
  std::vector<Line> lines;
};
[[nodiscard]] Document custom_all_reduce(const CustomAllReduceSweep& sweep);
[[nodiscard]] std::string custom_all_reduce_json(const CustomAllReduceSweep& sweep);

/// Tokens that go to their experts, or come back, by numbers of tokens of a GPU.
struct ExpertSweep {
  bool dispatch = true, combine = true;  ///< which of the two are asked for
  std::string instance;
  collective::ExpertBackend backend{};
  collective::ExpertMode mode{};
  collective::ExpertGroup group;
  struct Line {
    collective::ExpertTraffic traffic;
    collective::ExpertOutcome outcome;
  };
  std::vector<Line> lines;
};
[[nodiscard]] Document expert_sweep(const ExpertSweep& sweep);
[[nodiscard]] std::string expert_sweep_json(const ExpertSweep& sweep);

}  // namespace flowplan::report
