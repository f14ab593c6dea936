#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "flowplan/base/quantity.hpp"

namespace flowplan::planner {

/// The law by which a model's size and its tokens follow from a compute budget C.
///
/// `hoffmann`: L(N, D) = E + A / N^alpha + B / D^beta with C = 6 N D (Hoffmann et al. 2022,
/// arXiv 2203.15556, approach 3, equation 10: E 1.69, A 406.4, B 410.7, alpha 0.34, beta 0.28).
/// N counts all parameters. Fitted on 70 M to 16 B parameters and 5 B to 500 B tokens of
/// MassiveText. `besiroglu`: the same form fitted again to the paper's own points (Besiroglu et al.
/// 2024, arXiv 2404.10102: E 1.8172, A 482.01, B 2085.43, alpha 0.3478, beta 0.3658), which the
/// published coefficients do not reproduce; agrees with the paper's other two approaches. `kaplan`:
/// N = 1.3e9 (C / PF-day)^0.73 without embeddings, 2e10 (C / PF-day)^0.27 tokens, loss (3.1e8
/// PF-days / C)^0.050 (Kaplan et al. 2020, arXiv 2001.08361, section 1.2 and appendix A), C being
/// the least compute at the critical batch size. Fitted on models below 1.5 B parameters with a
/// learning-rate schedule that did not follow the length of the run, which is why it asks for
/// larger models and fewer tokens than Chinchilla does.
enum class ScalingLaw { hoffmann, besiroglu, kaplan };
[[nodiscard]] std::string_view name(ScalingLaw law);

/// What is known of a law.
struct LawFacts {
  std::string_view title, formula, source;
  std::string_view range;  ///< in words
  Flops from{}, to{};      ///< compute of the runs that it was fitted on
};
[[nodiscard]] const LawFacts& facts(ScalingLaw law);

/// The model that a law calls the best for a compute budget.
struct OptimalModel {
  ScalingLaw law{};
  double parameters = 0.0;
  double tokens = 0.0;
  double loss = 0.0;    ///< nats a token, on that law's own data and tokenizer
  bool inside = false;  ///< whether the budget is within the range that the law was fitted on
  [[nodiscard]] double tokens_per_parameter() const { return tokens / parameters; }
};
/// `compute` > 0, of the whole training run, forward and backward.
[[nodiscard]] OptimalModel compute_optimal(ScalingLaw law, Flops compute);
/// By every law, in their order.
[[nodiscard]] std::vector<OptimalModel> compute_optimal(Flops compute);

/// The loss of a model of `parameters` after `tokens` (both > 0) by L(N, D); nothing for `kaplan`,
/// whose law of both has another form.
[[nodiscard]] std::optional<double> expected_loss(ScalingLaw law, double parameters, double tokens);

}  // namespace flowplan::planner
