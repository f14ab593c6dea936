#include "flowplan/planner/compute_optimal.hpp"

#include <array>
#include <cmath>

#include "flowplan/base/assert.hpp"

namespace flowplan::planner {

namespace {

constexpr double flops_a_parameter_and_token = 6.0;

/// L(N, D) = E + A / N^alpha + B / D^beta; see the header for the sources.
struct Chinchilla {
  double e, a, b, alpha, beta;
};
constexpr Chinchilla published{1.69, 406.4, 410.7, 0.34, 0.28};
constexpr Chinchilla corrected{1.8172, 482.01, 2085.43, 0.3478, 0.3658};

/// Powers of the compute in PF-days.
struct Kaplan {
  double parameters = 1.3e9, parameters_exponent = 0.73;
  double tokens = 2e10, tokens_exponent = 0.27;
  double compute = 3.1e8, loss_exponent = 0.050;
};
constexpr Kaplan kaplan_2020{};
constexpr double flops_of_pf_day = 1e15 * 86400.0;

const Chinchilla& coefficients(ScalingLaw law) {
  return law == ScalingLaw::hoffmann ? published : corrected;
}

double loss_of(const Chinchilla& law, double parameters, double tokens) {
  return law.e + law.a / std::pow(parameters, law.alpha) + law.b / std::pow(tokens, law.beta);
}

/// Minimises L under 6 N D = C: N = G (C / 6)^(beta / (alpha + beta)).
OptimalModel optimum(const Chinchilla& law, double compute) {
  const double sum = law.alpha + law.beta;
  const double g = std::pow(law.alpha * law.a / (law.beta * law.b), 1.0 / sum);
  const double product = compute / flops_a_parameter_and_token;
  OptimalModel best;
  best.parameters = g * std::pow(product, law.beta / sum);
  best.tokens = product / best.parameters;
  best.loss = loss_of(law, best.parameters, best.tokens);
  return best;
}

OptimalModel optimum(const Kaplan& law, double compute) {
  const double pf_days = compute / flops_of_pf_day;
  OptimalModel best;
  best.parameters = law.parameters * std::pow(pf_days, law.parameters_exponent);
  best.tokens = law.tokens * std::pow(pf_days, law.tokens_exponent);
  best.loss = std::pow(law.compute / pf_days, law.loss_exponent);
  return best;
}

constexpr std::array<LawFacts, 3> all_facts{{
    {"Chinchilla, approach 3 as published", "L = 1.69 + 406.4 / N^0.34 + 410.7 / D^0.28, C = 6 N D",
     "Hoffmann et al. 2022, arXiv 2203.15556",
     "runs of 6e18 to 3e21 FLOPs, 70 M to 16 B parameters; the printed digits move the optimum by "
     "20 %",
     Flops(6e18), Flops(3e21)},
    {"Chinchilla, corrected", "L = 1.8172 + 482.01 / N^0.3478 + 2085.43 / D^0.3658, C = 6 N D",
     "Besiroglu et al. 2024, arXiv 2404.10102, from the points of Hoffmann et al.",
     "the same runs; about 20 tokens a parameter", Flops(6e18), Flops(3e21)},
    {"Kaplan", "N = 1.3e9 c^0.73, D = 2e10 c^0.27, L = (3.1e8 / c)^0.050, c = C in PF-days",
     "Kaplan et al. 2020, arXiv 2001.08361",
     "models below 1.5 B parameters without embeddings, fixed learning-rate schedule; superseded",
     Flops(1e-5 * flops_of_pf_day), Flops(1e1 * flops_of_pf_day)},
}};

}  // namespace

std::string_view name(ScalingLaw law) {
  switch (law) {
    case ScalingLaw::hoffmann:
      return "hoffmann";
    case ScalingLaw::besiroglu:
      return "besiroglu";
    case ScalingLaw::kaplan:
      break;
  }
  return "kaplan";
}

const LawFacts& facts(ScalingLaw law) {
  return all_facts[static_cast<std::size_t>(law)];
}

OptimalModel compute_optimal(ScalingLaw law, Flops compute) {
  FLOWPLAN_ASSERT(compute.value() > 0.0);
  OptimalModel best = law == ScalingLaw::kaplan ? optimum(kaplan_2020, compute.value())
                                                : optimum(coefficients(law), compute.value());
  best.law = law;
  best.inside = compute >= facts(law).from && compute <= facts(law).to;
  return best;
}

std::vector<OptimalModel> compute_optimal(Flops compute) {
  std::vector<OptimalModel> all;
  for (const ScalingLaw law : {ScalingLaw::hoffmann, ScalingLaw::besiroglu, ScalingLaw::kaplan})
    all.push_back(compute_optimal(law, compute));
  return all;
}

std::optional<double> expected_loss(ScalingLaw law, double parameters, double tokens) {
  FLOWPLAN_ASSERT(parameters > 0.0 && tokens > 0.0);
  if (law == ScalingLaw::kaplan) return std::nullopt;
  return loss_of(coefficients(law), parameters, tokens);
}

}  // namespace flowplan::planner
