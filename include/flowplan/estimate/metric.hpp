#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace flowplan {

enum class Better { higher, lower, neither };

/// One kind of figure that flowplan predicts. Every metric of every answer is in this registry.
struct MetricInfo {
  std::string_view id;    ///< "training.tokens_per_second"
  std::string_view unit;  ///< as printed: "tokens/s", "s", "B", "USD", "" for a ratio
  Better better = Better::neither;
  std::string_view description;      ///< one sentence, with what it assumes
  std::string_view prometheus_name;  ///< "flowplan_training_tokens_per_second"
};

/// All metrics, ordered by id.
[[nodiscard]] std::span<const MetricInfo> metric_registry();
/// The metric of that id; nothing when there is none.
[[nodiscard]] std::optional<MetricInfo> find_metric(std::string_view id);

struct Metric {
  std::string id;
  double value = 0.0;  ///< in the registry's unit
};

}  // namespace flowplan
