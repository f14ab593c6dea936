#include <catch2/catch.hpp>

#include "fixture.hpp"
#include "flowplan/training/iteration.hpp"

namespace forward_pass_test {

using namespace flowplan;
using namespace flowplan::training;

namespace {

Iteration must_estimate(const topology::Cluster& cluster, const Job& job) {
  auto iteration = estimate(the_catalog(), cluster, job);
  if (!iteration) FAIL(render(iteration.error()));
  return std::move(*iteration);
}

double layers_of(const Iteration& iteration) {
  return find(iteration.time, "step.compute")->time().value();
}

}  // namespace

TEST_CASE("a forward pass takes about a third of a step that keeps its activations") {
  const topology::Cluster cluster = cluster_of("p5.48xlarge", 8);
  Job job = llama_70b(64);
  job.recompute = Recompute::none;
  const auto pass = forward_pass(the_catalog(), cluster, job);
  REQUIRE(pass);
  CHECK(pass->time.value() ==
        Approx((pass->steady + pass->bubble + pass->transfers + pass->overhead).value()));
  const double share = pass->steady.value() / layers_of(must_estimate(cluster, job));
  CHECK(share > 0.25);
  CHECK(share < 0.45);
  // Nothing is kept, so what a training step recomputes does not matter.
  job.recompute = Recompute::full;
  CHECK(forward_pass(the_catalog(), cluster, job)->time == pass->time);
}

TEST_CASE("samples packed into a row attend to themselves only") {
  const topology::Cluster cluster = cluster_of("p5.48xlarge", 8);
  Job job = llama_70b(64);
  const Iteration whole = must_estimate(cluster, job);
  job.attention_share = 0.25;
  const Iteration packed = must_estimate(cluster, job);
  const auto attention = [](const Iteration& one) {
    return find(one.time, "step.compute.attention_backward")->time().value();
  };
  CHECK(attention(packed) == Approx(0.25 * attention(whole)));
  CHECK(packed.step < whole.step);
}

TEST_CASE("weights frozen in four bits take a quarter of the memory and time for copies") {
  const topology::Cluster cluster = cluster_of("p5.48xlarge", 8);
  Job job = llama_70b(64);
  job.adapters = Adapters{};
  const Iteration wide = must_estimate(cluster, job);
  job.adapters->frozen_bytes = 0.5;
  const Iteration narrow = must_estimate(cluster, job);
  // What is trained, some thousandths of the weights, stays as it is.
  CHECK(narrow.memory.front().weights.value() ==
        Approx(0.25 * wide.memory.front().weights.value()).epsilon(0.02));
  CHECK(narrow.memory.front().optimizer == wide.memory.front().optimizer);
  CHECK(narrow.step > wide.step);
}

}  // namespace forward_pass_test
