#include "flowplan/planner/sensitivity.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include "flowplan/catalog/scale.hpp"
#include "flowplan/scenario/overrides.hpp"
#include "flowplan/scenario/run.hpp"

namespace flowplan::planner {

namespace {

using catalog::Scaling;
using Json = nlohmann::ordered_json;

/// A swing below this is noise of the arithmetic.
constexpr double no_swing = 1e-9;
/// Whole numbers are moved by multiples of a power of two that divides them, of at most this share:
/// batches and lengths have to divide.
constexpr double coarsest_step_share = 1.0 / 16.0;

/// One input and how it is changed: a value of the scenario, or a figure of the catalog.
struct Input {
  std::string id, label, value;
  std::string path;        ///< of the scenario; empty: the catalog's `scaling`
  std::string less, more;  ///< values of the scenario
  Scaling scaling;
  double figure = 0.0;
  std::string unit;
};

/// 8192 by 0.9: 7168, a multiple of 512 as it is itself.
std::int64_t changed_whole(std::int64_t value, double factor) {
  std::int64_t step = 1;
  while (value % (2 * step) == 0 && static_cast<double>(2 * step) <=
                                        coarsest_step_share * std::abs(static_cast<double>(value)))
    step *= 2;
  const double steps = static_cast<double>(value) * factor / static_cast<double>(step);
  const std::int64_t changed = std::llround(steps) * step;
  if (changed != value) return changed;
  return value + (factor > 1.0 ? step : -step);
}

/// "400GB/s" as 400 and "GB/s"; nothing for what is no quantity.
std::optional<std::pair<double, std::string>> quantity_of(const std::string& text) {
  double number = 0.0;
  const char* const end = text.data() + text.size();
  const auto [rest, fault] = std::from_chars(text.data(), end, number);
  if (fault != std::errc{} || number <= 0.0) return std::nullopt;
  std::string unit(rest, end);
  const bool word = std::all_of(unit.begin(), unit.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '/' || c == ' ';
  });
  if (!word) return std::nullopt;
  return std::pair{number, std::move(unit)};
}

/// Numbers whose change means another question, not another answer to this one.
bool structural(const std::string& path) {
  for (const std::string_view part : {"workload.parallelism", "workload.prefill", "workload.decode",
                                      "operations.simulation", "workload.load.seed"})
    if (path.starts_with(part)) return true;
  return false;
}

Input scenario_input(const std::string& path, std::string value, std::string less,
                     std::string more) {
  Input input;
  input.id = input.path = path;
  input.label = path;
  input.value = std::move(value);
  input.less = std::move(less);
  input.more = std::move(more);
  return input;
}

void collect_scenario(const Json& json, const std::string& path, double by,
                      std::vector<Input>& inputs) {
  if (structural(path)) return;
  if (json.is_object()) {
    for (const auto& [key, child] : json.items())
      collect_scenario(child, path + "." + key, by, inputs);
    return;
  }
  if (json.is_number_integer()) {
    const auto value = json.get<std::int64_t>();
    const std::int64_t less = changed_whole(value, 1.0 - by), more = changed_whole(value, 1.0 + by);
    // Of a handful no tenth can be taken.
    if (value <= 0 || static_cast<double>(more - less) > 4.0 * by * static_cast<double>(value))
      return;
    inputs.push_back(scenario_input(path, fmt::format("{}", value), fmt::format("{}", less),
                                    fmt::format("{}", more)));
    return;
  }
  if (json.is_number_float()) {
    const auto value = json.get<double>();
    if (value <= 0.0) return;
    inputs.push_back(scenario_input(path, fmt::format("{:g}", value),
                                    fmt::format("{:.12g}", value * (1.0 - by)),
                                    fmt::format("{:.12g}", value * (1.0 + by))));
    return;
  }
  if (!json.is_string()) return;
  if (const auto quantity = quantity_of(json.get<std::string>())) {
    const auto& [number, unit] = *quantity;
    const auto quoted = [&u = unit](double n) { return fmt::format("\"{:.12g}{}\"", n, u); };
    inputs.push_back(scenario_input(path, json.get<std::string>(), quoted(number * (1.0 - by)),
                                    quoted(number * (1.0 + by))));
  }
}

Input catalog_input(Scaling::What what, const std::string& id, std::string figure_name,
                    double value, std::string unit) {
  Input input;
  input.id = fmt::format("{} {}", id, figure_name);
  input.label = input.id;
  input.figure = value;
  input.unit = std::move(unit);
  input.value =
      input.unit.empty() ? fmt::format("{:g}", value) : fmt::format("{:g} {}", value, input.unit);
  input.scaling = {what, id, {}, 1.0};
  return input;
}

void collect_hardware(const catalog::Catalog& catalog, const scenario::Scenario& scenario,
                      const scenario::Answer& answer, std::vector<Input>& inputs) {
  const catalog::Instance& instance = *scenario.cluster.instance;
  const catalog::Gpu& gpu = catalog.gpu_of(instance);
  using What = Scaling::What;
  const model::Precision precision =
      scenario.serving ? model::Precision::bf16 : answer.job.precision;
  if (const auto peak = gpu.peak(precision))
    inputs.push_back(
        catalog_input(What::matrix_rate, gpu.id, "matrix rate", peak->value() / 1e12, "TFLOP/s"));
  inputs.push_back(catalog_input(What::hbm_bandwidth, gpu.id, "HBM bandwidth",
                                 gpu.hbm_gbytes_per_s.value, "GB/s"));
  inputs.push_back(catalog_input(What::hbm_capacity, instance.id, "HBM capacity",
                                 instance.hbm_reported_mib_per_gpu.value, "MiB"));
  if (gpu.nvlink_gbytes_per_s)
    inputs.push_back(
        catalog_input(What::nvlink, gpu.id, "NVLink", gpu.nvlink_gbytes_per_s.value, "GB/s"));
  if (instance.efa_gbps_total)
    inputs.push_back(catalog_input(What::network, instance.id, "network",
                                   instance.efa_gbps_total.value, "Gbit/s"));
  for (const operations::PurchaseCost& cost : answer.costs)
    if (cost.purchase == answer.purchase)
      inputs.push_back(catalog_input(What::price, instance.id, "price",
                                     cost.per_hour.value() / answer.count, "USD/h"));
}

/// Whether a constant is a factor, a share or an amount, rather than a switch or a shape.
bool is_amount(std::string_view name) {
  if (name.starts_with("band.") || name.starts_with("memory.")) return false;
  constexpr std::array endings{"_factor", "_share", "_bytes", "_us", "_ms", "_fraction", ".factor"};
  return std::any_of(endings.begin(), endings.end(),
                     [&](std::string_view ending) { return name.ends_with(ending); });
}

/// Factors of the kernels' and the framework's profiles.
void collect_profiles(const catalog::Catalog& catalog, const scenario::Answer& answer,
                      std::vector<Input>& inputs) {
  for (const std::string& id : answer.estimate.provenance.profiles) {
    const auto set = catalog.constants(id);
    if (!set) continue;
    const bool kernels = (*set)->kind() == "gpu_kernels";
    if (!kernels && (*set)->kind() != "framework") continue;
    for (const catalog::Constants::Entry& entry : (*set)->entries()) {
      if (entry.values.size() != 1 || entry.values[0] <= 0.0 || !is_amount(entry.name)) continue;
      if (kernels && !entry.name.starts_with("step.")) continue;
      Input input = catalog_input(Scaling::What::constant, id, entry.name, entry.values[0], "");
      input.scaling.constant = entry.name;
      inputs.push_back(std::move(input));
    }
  }
}

std::vector<Input> all_inputs(const catalog::Catalog& catalog, const scenario::Scenario& scenario,
                              const scenario::Answer& answer, double by) {
  std::vector<Input> inputs;
  collect_hardware(catalog, scenario, answer, inputs);
  // A serving answer takes thousands of times as long as a training step's.
  if (!answer.serving) collect_profiles(catalog, answer, inputs);
  const Json& root = scenario.document.root();
  for (const char* section : {"cluster", "workload", "storage", "operations"})
    if (root.contains(section)) collect_scenario(root.at(section), section, by, inputs);
  return inputs;
}

/// `base`: the answer without the change.
SensitivitySide side_of_input(const catalog::Catalog& catalog, const JsonDocument& document,
                              const JsonDocument& schema, const Input& input, bool more, double by,
                              const std::string& version, const scenario::Answer& base) {
  const double factor = more ? 1.0 + by : 1.0 - by;
  SensitivitySide side;
  std::optional<catalog::Catalog> changed;
  JsonDocument asked = document;
  if (input.path.empty()) {
    Scaling scaling = input.scaling;
    scaling.factor = factor;
    changed = catalog::scaled(catalog, scaling);
    side.value = fmt::format("{:.6g}", input.figure * factor);
  } else {
    const std::string value = more ? input.more : input.less;
    side.value = value.starts_with('"') ? value.substr(1, value.size() - 2) : value;
    const std::array<std::string, 1> overrides{input.path + "=" + value};
    auto overridden = scenario::with_overrides(document, schema, overrides);
    if (!overridden) {
      side.fault = overridden.error().front().message;
      return side;
    }
    asked = std::move(*overridden);
  }
  const catalog::Catalog& used = changed ? *changed : catalog;
  const auto scenario = scenario::read(used, asked, schema);
  if (!scenario) {
    side.fault = scenario.error().front().message;
    return side;
  }
  auto answer = scenario::run(used, *scenario, version, scenario::Depth::metrics, &base);
  if (!answer) {
    side.fault = answer.error().front().message;
    return side;
  }
  if (!answer->feasible()) side.fault = "does not fit: " + answer->reason();
  side.metrics = std::move(answer->estimate.metrics);
  return side;
}

const double* metric_of(const std::vector<Metric>& metrics, std::string_view id) {
  for (const Metric& one : metrics)
    if (one.id == id) return &one.value;
  return nullptr;
}

/// Money and time of the whole where there is a budget, the speed in any case.
std::vector<std::string> shown_metrics(const std::vector<Metric>& base) {
  constexpr std::array wanted{"operations.cost_usd",
                              "operations.days",
                              "training.cost_usd",
                              "training.days",
                              "training.step_time",
                              "posttraining.cost_usd",
                              "posttraining.days",
                              "posttraining.step_time",
                              "inference.ttft_p99",
                              "inference.tpot_p99",
                              "inference.cost_per_million_output_tokens_usd"};
  constexpr std::size_t most = 2;
  std::vector<std::string> shown;
  for (const char* id : wanted)
    if (shown.size() < most && metric_of(base, id) != nullptr) shown.emplace_back(id);
  if (shown.empty() && !base.empty()) shown.push_back(base.front().id);
  return shown;
}

}  // namespace

Result<Sensitivity> sensitivity(const catalog::Catalog& catalog, const JsonDocument& document,
                                const JsonDocument& schema, const SensitivityOptions& options) {
  const auto scenario = scenario::read(catalog, document, schema);
  if (!scenario) return fail(scenario.error());
  const auto answer =
      scenario::run(catalog, *scenario, options.program_version, scenario::Depth::metrics);
  if (!answer) return fail(answer.error());

  Sensitivity result;
  result.name = answer->name;
  result.by = options.by;
  result.base = answer->estimate.metrics;
  result.metrics = shown_metrics(result.base);
  const std::vector<Input> inputs = all_inputs(catalog, *scenario, *answer, options.by);
  for (const Input& input : inputs)
    result.rows.push_back({input.id, input.label, input.value, {}, {}});
  tbb::task_arena arena(options.threads > 0 ? options.threads : tbb::task_arena::automatic);
  arena.execute([&] {
    tbb::parallel_for(std::size_t{0}, 2 * inputs.size(), [&](std::size_t i) {
      const bool more = i % 2 == 1;
      SensitivityRow& row = result.rows[i / 2];
      (more ? row.more : row.less) = side_of_input(catalog, document, schema, inputs[i / 2], more,
                                                   options.by, options.program_version, *answer);
    });
  });
  return result;
}

double Swing::size() const {
  return std::max(std::abs(less.value_or(0.0)), std::abs(more.value_or(0.0)));
}

std::vector<Swing> swings(const Sensitivity& sensitivity, std::string_view metric) {
  std::vector<Swing> all;
  const double* base = metric_of(sensitivity.base, metric);
  if (base == nullptr || *base == 0.0) return all;
  for (const SensitivityRow& row : sensitivity.rows) {
    const auto relative = [&](const SensitivitySide& side) -> std::optional<double> {
      const double* value = metric_of(side.metrics, metric);
      if (value == nullptr) return std::nullopt;
      return *value / *base - 1.0;
    };
    Swing swing{&row, relative(row.less), relative(row.more)};
    if (swing.size() > no_swing) all.push_back(swing);
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Swing& a, const Swing& b) { return a.size() > b.size(); });
  return all;
}

}  // namespace flowplan::planner
