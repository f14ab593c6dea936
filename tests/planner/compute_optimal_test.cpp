#include "flowplan/planner/compute_optimal.hpp"

#include <cmath>

#include <catch2/catch.hpp>

namespace flowplan::planner::compute_optimal_test {

TEST_CASE("at the optimum neither more parameters nor more tokens are worth more") {
  // dL/dlnN = dL/dlnD: alpha A / N^alpha = beta B / D^beta, with the published coefficients.
  const OptimalModel gopher = compute_optimal(ScalingLaw::hoffmann, Flops(5.76e23));
  const double parameters_term = 0.34 * 406.4 / std::pow(gopher.parameters, 0.34);
  const double tokens_term = 0.28 * 410.7 / std::pow(gopher.tokens, 0.28);
  CHECK(parameters_term == Approx(tokens_term));
  CHECK(6.0 * gopher.parameters * gopher.tokens == Approx(5.76e23));
  // The paper prints 40 B; coefficients of two digits leave 32 B of it.
  CHECK(gopher.parameters == Approx(32.19e9).epsilon(0.001));
}

TEST_CASE("Besiroglu's correction brings about 20 tokens a parameter at Chinchilla's budget") {
  const OptimalModel best = compute_optimal(ScalingLaw::besiroglu, Flops(5.76e23));
  CHECK(best.tokens_per_parameter() > 15.0);
  CHECK(best.tokens_per_parameter() < 25.0);
}

TEST_CASE("the optimum is one: neighbours on the same budget lose more") {
  for (const ScalingLaw law : {ScalingLaw::hoffmann, ScalingLaw::besiroglu}) {
    for (const double compute : {1e18, 1e21, 1e24, 1e26}) {
      const OptimalModel best = compute_optimal(law, Flops(compute));
      for (const double factor : {0.9, 0.99, 1.01, 1.1}) {
        CHECK(*expected_loss(law, best.parameters * factor, best.tokens / factor) > best.loss);
      }
    }
  }
}

TEST_CASE("Kaplan's law at one PF-day is its coefficients") {
  const OptimalModel one = compute_optimal(ScalingLaw::kaplan, Flops(8.64e19));
  CHECK(one.parameters == Approx(1.3e9));
  CHECK(one.tokens == Approx(2e10));
  CHECK(one.loss == Approx(std::pow(3.1e8, 0.05)));
  CHECK(one.inside);
  CHECK(!expected_loss(ScalingLaw::kaplan, 1e9, 1e10));
  // Ten times the compute: 10^0.73 times the parameters.
  CHECK(compute_optimal(ScalingLaw::kaplan, Flops(8.64e20)).parameters ==
        Approx(1.3e9 * std::pow(10.0, 0.73)));
}

TEST_CASE("budgets beyond the fit are marked") {
  CHECK(compute_optimal(ScalingLaw::besiroglu, Flops(1e20)).inside);
  CHECK(!compute_optimal(ScalingLaw::besiroglu, Flops(1e24)).inside);
  CHECK(compute_optimal(Flops(1e24)).size() == 3);
}

}  // namespace flowplan::planner::compute_optimal_test
