#include "flowplan/storage/interference.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "flowplan/base/assert.hpp"
#include "flowplan/flow/task_graph.hpp"

namespace flowplan::storage {

namespace {

/// Steps that are simulated at most: a longer transfer meets equal steps after these.
constexpr double simulated_steps = 32.0;

/// Steps of one node, one after the other, on one link.
class StepChain {
 public:
  StepChain(const StepTraffic& training, std::uint32_t steps) : training_(training) {
    const double all = training.utilisation * training.device.value() * training.step.value();
    exposed_ = std::min(all, training.device.value() * training.exposed.value());
    hidden_ = all - exposed_;
    for (std::uint32_t i = 0; i < steps; ++i)
      add_step();
  }

  flow::TaskId last() const { return done_.back(); }
  flow::TaskGraph graph;

  void flow(double bytes, double rate) {
    constexpr flow::Use devices{flow::LinkId{0}, 1.0};
    flow::FlowSpec spec;
    spec.bytes = bytes;
    spec.cap_per_s = rate;
    spec.weight = rate;
    graph.flows.add(std::array{devices}, spec);
  }

 private:
  void add_step() {
    const Seconds computing = training_.step - training_.exposed;
    const std::vector<flow::TaskId> before = done_;
    std::vector<flow::TaskId> both{graph.add("compute", computing.value(), before)};
    if (hidden_ > 0.0 && computing.value() > 0.0) {
      flow(hidden_, hidden_ / computing.value());
      both.push_back(graph.add("hidden", 0.0, before));
    }
    if (exposed_ > 0.0) {
      flow(exposed_, exposed_ / training_.exposed.value());
      done_ = {graph.add("exposed", 0.0, both)};
    } else {
      done_ = {graph.add("waiting", training_.exposed.value(), both)};
    }
  }

  const StepTraffic& training_;
  double exposed_ = 0.0, hidden_ = 0.0;  // bytes a step
  std::vector<flow::TaskId> done_;
};

}  // namespace

Interference interfere(const StepTraffic& training, const Background& background) {
  FLOWPLAN_ASSERT(training.step.value() > 0.0 && training.device.value() > 0.0);
  FLOWPLAN_ASSERT(background.rate.value() > 0.0);
  Interference result;
  result.transfer_alone = background.per_node / background.rate;
  result.transfer = result.transfer_alone;
  if (background.per_node.value() <= 0.0) return result;

  // Beside training the transfer has at least its proportional share, half of the devices.
  const double most = std::ceil(2.0 * (result.transfer_alone / training.step)) + 1.0;
  const auto steps = static_cast<std::uint32_t>(std::min(most, simulated_steps));
  StepChain chain(training, steps);
  const double rate = std::min(background.rate.value(), training.device.value());
  const bool whole = most <= simulated_steps;
  chain.flow(
      whole ? background.per_node.value() : rate * training.step.value() * simulated_steps * 4.0,
      rate);
  const flow::TaskId transfer = chain.graph.add("transfer", 0.0);
  const flow::Network devices{{training.device.value()}};
  const auto timeline = flow::simulate(devices, chain.graph);
  FLOWPLAN_ASSERT(timeline.has_value());
  const double trained = timeline->end_s[index(chain.last())];
  const double longer = std::max(0.0, trained - training.step.value() * steps);
  if (whole) {
    result.longer = Seconds(longer);
    result.transfer = Seconds(timeline->end_s[index(transfer)]);
    result.steps = result.transfer / training.step;
    result.longer_step = result.longer / std::max(1.0, result.steps);
    return result;
  }
  // Every step is alike: what the transfer moved beside these says how long it lasts.
  result.longer_step = Seconds(longer / steps);
  const double collectives = training.utilisation * training.device.value() *
                             training.step.value() * static_cast<double>(steps);
  const double carried = std::min(rate * trained, training.device.value() * trained - collectives);
  result.transfer = background.per_node / (Bytes(std::max(carried, 1.0)) / Seconds(trained));
  result.steps = result.transfer / (training.step + result.longer_step);
  result.longer = result.longer_step * result.steps;
  return result;
}

}  // namespace flowplan::storage
