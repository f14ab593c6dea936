#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "flowplan/inference/load.hpp"
#include "random.hpp"

namespace flowplan::inference {

/// A draw of a token count.
[[nodiscard]] std::uint32_t draw(const TokenCount& tokens, Draws& draws);

/// Writes the requests of tasks, their prefix blocks and what they wait for.
class TaskWriter {
 public:
  explicit TaskWriter(const Load& load);
  void write(std::uint32_t task, double at_s);
  [[nodiscard]] bool fits() const { return workload_.requests.size() <= most_requests; }
  [[nodiscard]] Workload take() { return std::move(workload_); }

 private:
  /// A text that grows: tokens so far, and the blocks that hold them.
  struct Text {
    std::uint32_t tokens = 0;
    std::vector<BlockRun> blocks;
  };

  [[nodiscard]] std::pair<std::uint32_t, std::uint32_t> lengths();
  [[nodiscard]] Text prompt(std::uint32_t tokens);
  /// The text with so many tokens more, in blocks that no other text has.
  [[nodiscard]] Text longer(Text text, std::uint32_t tokens);
  RequestId add(const Text& whole, std::uint32_t input, std::uint32_t output);
  std::uint32_t add_join(std::uint32_t waits_for, double delay_s);
  void releases(std::uint32_t join, RequestId first);

  void turns(const Sessions& sessions);
  void samples(const Samples& samples);
  void tree(const TreeSearch& search);
  void calls(const AgentLoop& agent);
  void end_with(std::uint32_t join) { workload_.joins[join].ends_task = true; }

  const Load& load_;
  Workload workload_;
  std::vector<double> adapter_shares_;  // running sums
  Draws draws_;
  std::uint32_t task_ = 0, next_block_ = 0;
  std::uint16_t adapter_ = 0;
  double at_s_ = 0.0;
};

}  // namespace flowplan::inference
