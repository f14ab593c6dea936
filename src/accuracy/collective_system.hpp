#pragma once

#include <string>
#include <string_view>

namespace flowplan::accuracy {

/// The catalog entry that stands for the system of a collectives row.
struct CollectiveSystem {
  std::string instance;  ///< catalog id; empty when there is none
  std::string skipped;   ///< then: why
  int units = 0;         ///< of the instance
  int per_unit = 0;      ///< GPUs of each that take part, the first ones
  std::string profile;   ///< constants set; empty: the instance's own

  [[nodiscard]] bool known() const { return !instance.empty(); }
};

/// From the columns instance_or_system, gpu, nodes and gpus, as those files spell them.
[[nodiscard]] CollectiveSystem collective_system(std::string_view system, std::string_view gpu,
                                                 int nodes, int gpus);

}  // namespace flowplan::accuracy
