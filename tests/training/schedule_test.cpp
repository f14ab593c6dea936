#include "flowplan/training/schedule.hpp"

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include <catch2/catch.hpp>

namespace schedule_test {

using namespace flowplan;
using namespace flowplan::training;

namespace {

using Layers = std::vector<std::int64_t>;

/// One 1F1B flush replayed operation by operation: stage i runs min(p - i, m) forwards, then
/// alternates; the backward pass of a stage waits for the next stage's.
double replay_1f1b(const std::vector<double>& forward, const std::vector<double>& backward, int m) {
  const int p = static_cast<int>(forward.size());
  const auto at = [](int i) { return static_cast<std::size_t>(i); };
  std::vector<std::vector<double>> f(at(p), std::vector<double>(at(m), -1.0)), b = f;
  std::vector<double> free(at(p), 0.0);
  std::vector<int> done_f(at(p), 0), done_b(at(p), 0);
  for (bool moved = true; moved;) {
    moved = false;
    for (int i = 0; i < p; ++i) {
      const int warm = std::min(p - i, m);
      const bool forward_next = done_f[at(i)] < m && done_f[at(i)] - done_b[at(i)] < warm;
      if (forward_next) {
        const int k = done_f[at(i)];
        if (i > 0 && f[at(i - 1)][at(k)] < 0) continue;
        const double ready = i > 0 ? f[at(i - 1)][at(k)] : 0.0;
        free[at(i)] = f[at(i)][at(k)] = std::max(free[at(i)], ready) + forward[at(i)];
        ++done_f[at(i)];
        moved = true;
      } else if (done_b[at(i)] < m) {
        const int k = done_b[at(i)];
        if (f[at(i)][at(k)] < 0 || (i + 1 < p && b[at(i + 1)][at(k)] < 0)) continue;
        const double ready = i + 1 < p ? b[at(i + 1)][at(k)] : f[at(i)][at(k)];
        free[at(i)] = b[at(i)][at(k)] = std::max(free[at(i)], ready) + backward[at(i)];
        ++done_b[at(i)];
        moved = true;
      }
    }
  }
  return *std::max_element(free.begin(), free.end());
}

}  // namespace

TEST_CASE("layers are split evenly, or with room for embedding and head") {
  CHECK(stage_layers(80, 4, 5) == Layers{20, 20, 20, 20});
  CHECK(stage_layers(32, 1, 1) == Layers{32});
  // Llama 3.1 405B: 126 layers, embedding and head are 128 places, 16 a stage.
  CHECK(stage_layers(126, 8, 4) == Layers{15, 16, 16, 16, 16, 16, 16, 15});
  CHECK_FALSE(stage_layers(80, 6, 1));
  CHECK_FALSE(stage_layers(4, 8, 1));
  CHECK_FALSE(stage_layers(2, 4, 1));
}

TEST_CASE("splits keep every layer") {
  for (const std::int64_t layers : {24, 61, 80, 96, 126}) {
    for (int pp = 1; pp <= 16; ++pp) {
      for (int vp = 1; vp <= 8; ++vp) {
        const auto split = stage_layers(layers, pp, vp);
        if (!split) continue;
        CHECK(split->size() == static_cast<std::size_t>(pp));
        CHECK(std::accumulate(split->begin(), split->end(), std::int64_t{0}) == layers);
        CHECK(*std::min_element(split->begin(), split->end()) >= 1);
      }
    }
  }
}

TEST_CASE("the bubble of equal stages is (p - 1) / (m v) of the ideal") {
  const std::vector<Seconds> stages(8, Seconds(0.25));
  const PipelineTime plain = pipeline_time(stages, 32, 1);
  CHECK(plain.steady.value() == Approx(8.0));
  CHECK(plain.bubble / plain.steady == Approx(7.0 / 32.0));
  const PipelineTime interleaved = pipeline_time(stages, 32, 4);
  CHECK(interleaved.bubble / interleaved.steady == Approx(7.0 / 128.0));
}

TEST_CASE("one stage has no bubble") {
  const std::vector<Seconds> stage{Seconds(0.5)};
  CHECK(pipeline_time(stage, 6, 1).steady.value() == Approx(3.0));
  CHECK(pipeline_time(stage, 6, 1).bubble.value() == 0.0);
}

TEST_CASE("the slowest stage paces the others") {
  // 10 micro-batches at 3 s, and once through the two others
  const std::vector<Seconds> stages{Seconds(2), Seconds(2), Seconds(3)};
  const PipelineTime time = pipeline_time(stages, 10, 1);
  CHECK(time.slowest == 2);
  CHECK((time.steady + time.bubble).value() == Approx(34.0));
}

TEST_CASE("the recurrence agrees with a replay of 1F1B") {
  std::mt19937 random(3);
  for (int i = 0; i < 60; ++i) {
    const int p = std::uniform_int_distribution<int>(1, 6)(random);
    const int m = std::uniform_int_distribution<int>(p, 20)(random);
    // Equal stages but for a slower last one, as with an output head.
    std::vector<double> forward(static_cast<std::size_t>(p), 1.0);
    std::vector<double> backward(static_cast<std::size_t>(p), 2.0);
    const double head = std::uniform_real_distribution<double>(0.0, 0.5)(random);
    forward.back() += head;
    backward.back() += 2.0 * head;
    std::vector<Seconds> stages;
    for (std::size_t s = 0; s < forward.size(); ++s)
      stages.emplace_back(forward[s] + backward[s]);
    const PipelineTime time = pipeline_time(stages, m, 1);
    CHECK((time.steady + time.bubble).value() ==
          Approx(replay_1f1b(forward, backward, m)).epsilon(1e-9));
  }
}

}  // namespace schedule_test
