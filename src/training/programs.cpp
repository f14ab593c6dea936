#include "flowplan/training/programs.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <deque>

#include "flowplan/base/assert.hpp"

namespace flowplan::training {
namespace {

std::vector<Pass> one_forward_one_backward(int rank, int p, int v, std::int64_t m) {
  const auto pass = [&](std::int64_t k, PassPart part) {
    if (v == 1) return Pass{part, 0, k};
    const std::int64_t group = static_cast<std::int64_t>(p) * v;
    const auto chunk = static_cast<int>(k % group / p);
    return Pass{part, part == PassPart::forward ? chunk : v - 1 - chunk, k / group * p + k % p};
  };
  const std::int64_t total = m * v;
  const std::int64_t ahead =
      v == 1 ? p - rank - 1 : 2 * (p - rank - 1) + static_cast<std::int64_t>(v - 1) * p;
  const std::int64_t warm = std::min(ahead, total);
  std::vector<Pass> order;
  order.reserve(static_cast<std::size_t>(2 * total));
  for (std::int64_t k = 0; k < warm; ++k)
    order.push_back(pass(k, PassPart::forward));
  for (std::int64_t k = warm; k < total; ++k) {
    order.push_back(pass(k, PassPart::forward));
    order.push_back(pass(k - warm, PassPart::backward));
  }
  for (std::int64_t k = total - warm; k < total; ++k)
    order.push_back(pass(k, PassPart::backward));
  return order;
}

std::vector<Pass> zero_bubble(int rank, int p, std::int64_t m) {
  std::vector<Pass> order;
  order.reserve(static_cast<std::size_t>(3 * m));
  std::int64_t weights = 0;
  const auto backward = [&](std::int64_t k) {
    order.push_back({PassPart::input, 0, k});
    if (k >= rank) order.push_back({PassPart::weight, 0, weights++});
  };
  const std::int64_t warm = std::min<std::int64_t>(p - rank - 1, m);
  for (std::int64_t k = 0; k < m; ++k) {
    order.push_back({PassPart::forward, 0, k});
    if (k >= warm) backward(k - warm);
  }
  for (std::int64_t k = m - warm; k < m; ++k)
    backward(k);
  while (weights < m)
    order.push_back({PassPart::weight, 0, weights++});
  return order;
}

/// Writes a rank's DualPipe program; directions are the rank's own: 0 is that whose first stage is
/// nearer.
class DualPipeProgram {
 public:
  DualPipeProgram(int rank, int p) : second_half_(rank >= p / 2) {}

  void forward(int direction) {
    add({PassPart::forward, 0, forwards_[at(direction)]++, direction});
  }
  /// `apart`: the weight gradients wait for `weight`.
  void backward(int direction, bool apart) {
    const Pass pass{apart ? PassPart::input : PassPart::backward, 0, backwards_[at(direction)]++,
                    direction};
    add(pass);
    if (apart) waiting_.push_back(pass);
  }
  void weight() {
    FLOWPLAN_ASSERT(!waiting_.empty());
    Pass pass = waiting_.front();
    waiting_.pop_front();
    pass.part = PassPart::weight;
    add(pass);
  }
  /// A forward pass of one direction and a backward pass of the other at once.
  void both(int direction) {
    forward(direction);
    order_.back().with_next = true;
    backward(1 - direction, false);
  }
  std::vector<Pass> take() {
    FLOWPLAN_ASSERT(waiting_.empty());
    return std::move(order_);
  }

 private:
  static std::size_t at(int direction) { return static_cast<std::size_t>(direction); }
  void add(Pass pass) {
    if (second_half_) pass.direction = 1 - pass.direction;
    order_.push_back(pass);
  }

  bool second_half_;
  std::array<std::int64_t, 2> forwards_{}, backwards_{};
  std::deque<Pass> waiting_;
  std::vector<Pass> order_;
};

}  // namespace

std::vector<Pass> dual_pipe_program(int rank, int stages, std::int64_t micro_batches) {
  const int p = stages;
  const std::int64_t m = micro_batches;
  FLOWPLAN_ASSERT(p % 2 == 0 && m % 2 == 0 && m >= 2 * p);
  const int near = std::min(rank, p - 1 - rank);  // ranks between this one and its end
  const int between = p / 2 - near - 1;           // and the middle
  const std::int64_t steady = m / 2 - p + near + 1;
  DualPipeProgram run(rank, p);
  for (int i = 0; i < 2 * between; ++i)
    run.forward(0);
  for (int i = 0; i <= near; ++i)
    run.forward(0), run.forward(1);
  for (int i = 0; i < between; ++i)
    run.backward(1, true), run.weight(), run.forward(1);
  for (std::int64_t i = 0; i < steady; ++i) {
    // The first pair of the two middle ranks would wait for itself.
    if (i == 0 && between == 0)
      run.forward(0), run.backward(1, false);
    else
      run.both(0);
    run.both(1);
  }
  for (int i = 0; i < between; ++i)
    run.backward(1, false), run.both(1);
  // Half way through what is left of both directions weight gradients begin to wait.
  const int half = (near + 1) / 2;
  for (int i = 0; i <= near; ++i) {
    run.backward(1, i > half || (i == half && near % 2 == 1));
    run.backward(0, i >= half);
  }
  for (int i = 0; i < between; ++i)
    run.weight(), run.backward(0, true);
  for (int i = 0; i <= near; ++i)
    run.weight();
  return run.take();
}

std::vector<Pass> program_of(const Job& job, int rank, std::int64_t micro_batches) {
  const Layout& l = job.layout;
  switch (job.schedule) {
    case Schedule::zero_bubble_1:
      return zero_bubble(rank, l.pp, micro_batches);
    case Schedule::dual_pipe:
      return dual_pipe_program(rank, l.pp, micro_batches);
    case Schedule::one_forward_one_backward:
      break;
  }
  return one_forward_one_backward(rank, l.pp, l.vp, micro_batches);
}

}  // namespace flowplan::training
