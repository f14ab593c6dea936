#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "flowplan/replay/simulate.hpp"

namespace flowplan::replay {

/// The ranks of each group that a name stands for.
using RankGroups = std::vector<std::vector<std::uint32_t>>;

/// What the names of a trace's communicators mean.
class Communicators {
 public:
  /// `ranks`: of the job. Errors FP061.
  [[nodiscard]] static Result<Communicators> of(const ExecutionTrace& trace, std::uint32_t ranks,
                                                std::uint32_t ranks_per_domain,
                                                const ReplayOptions& options);

  [[nodiscard]] const RankGroups& groups(const std::string& name) const;
  /// Of a name's groups the one that a rank is in; nothing when it is in none.
  [[nodiscard]] std::optional<std::uint32_t> group_of(const std::string& name,
                                                      std::uint32_t rank) const;
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }

 private:
  std::map<std::string, RankGroups> groups_;
  std::vector<std::string> notes_;
};

}  // namespace flowplan::replay
