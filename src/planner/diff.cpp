#include "flowplan/planner/diff.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace flowplan::planner {

namespace {

using DiffJson = nlohmann::ordered_json;

constexpr int readable_result_version = 1;

/// Leaves of a JSON value with their dotted paths.
void flatten(const DiffJson& value, const std::string& path,
             std::vector<std::pair<std::string, std::string>>& out) {
  if (value.is_structured() && !value.empty()) {
    std::size_t index = 0;
    for (const auto& [key, inner] : value.items()) {
      const std::string part = value.is_array() ? std::to_string(index++) : key;
      flatten(inner, path.empty() ? part : path + "." + part, out);
    }
    return;
  }
  out.emplace_back(path, value.dump());
}

Breakdown read_breakdown(const DiffJson& json) {
  Breakdown node;
  node.id = json.value("id", "");
  node.label = json.value("label", "");
  node.leaf_time = Seconds(json.value("time_s", 0.0));
  node.limit = json.value("limit", "");
  node.next = json.value("next", "");
  const DiffJson children = json.value("children", DiffJson::array());
  for (const auto& child : children)
    node.children.push_back(read_breakdown(child));
  return node;
}

/// The breakdown of whatever kind of work the result is of.
const DiffJson* find_breakdown(const DiffJson& root) {
  for (const auto& [key, section] : root.items())
    if (section.is_object() && section.contains("breakdown")) return &section["breakdown"];
  return nullptr;
}

struct Leaf {
  std::string path;
  const Breakdown* node;
};

void leaves_of(const Breakdown& node, const std::string& path, std::vector<Leaf>& out) {
  const std::string here = path + "/" + node.id;
  if (node.children.empty()) {
    if (!node.id.empty()) out.push_back({here, &node});
    return;
  }
  for (const Breakdown& child : node.children)
    leaves_of(child, here, out);
}

template <class Value>
std::optional<Value> found(const std::map<std::string, Value>& all, const std::string& key) {
  const auto at = all.find(key);
  return at == all.end() ? std::nullopt : std::optional<Value>(at->second);
}

std::vector<InputChange> changed_inputs(const Side& base, const Side& fresh) {
  const std::map<std::string, std::string> before(base.inputs.begin(), base.inputs.end());
  const std::map<std::string, std::string> after(fresh.inputs.begin(), fresh.inputs.end());
  std::vector<InputChange> changes;
  for (const auto& [path, value] : base.inputs)
    if (const auto now = found(after, path); now != value) changes.push_back({path, value, now});
  for (const auto& [path, value] : fresh.inputs)
    if (!before.contains(path)) changes.push_back({path, std::nullopt, value});
  return changes;
}

std::vector<MetricChange> compared_metrics(const Side& base, const Side& fresh) {
  const auto value = [](const Side& side, std::string_view id) -> std::optional<double> {
    for (const Metric& metric : side.metrics)
      if (metric.id == id) return metric.value;
    return std::nullopt;
  };
  std::vector<MetricChange> changes;
  for (const MetricInfo& info : metric_registry()) {
    MetricChange change{std::string(info.id), value(base, info.id), value(fresh, info.id)};
    if (change.base || change.fresh) changes.push_back(std::move(change));
  }
  return changes;
}

std::vector<TermChange> changed_terms(const Breakdown& base, const Breakdown& fresh) {
  std::vector<Leaf> before, after;
  leaves_of(base, "", before);
  leaves_of(fresh, "", after);
  std::vector<TermChange> terms;
  std::map<std::string, std::size_t> place;
  for (const Leaf& leaf : before) {
    place.emplace(leaf.path, terms.size());
    terms.push_back(
        {leaf.node->id, leaf.node->label, leaf.node->time(), std::nullopt, leaf.node->limit, ""});
  }
  for (const Leaf& leaf : after) {
    const auto [at, is_new] = place.emplace(leaf.path, terms.size());
    if (is_new) terms.push_back({leaf.node->id, leaf.node->label, {}, {}, "", ""});
    terms[at->second].fresh = leaf.node->time();
    terms[at->second].fresh_limit = leaf.node->limit;
  }
  std::erase_if(terms, [](const TermChange& term) { return term.difference() == Seconds{}; });
  std::stable_sort(terms.begin(), terms.end(), [](const TermChange& a, const TermChange& b) {
    return std::abs(a.difference().value()) > std::abs(b.difference().value());
  });
  return terms;
}

void add_links(const std::string& path, const std::vector<storage::LimitUse>& limits, Side& side) {
  for (const storage::LimitUse& use : limits) {
    side.storage_links.push_back(
        {path, use.limit.id, use.limit.name, use.ceiling.value(), use.utilisation});
  }
}

void read_links(const DiffJson& root, Side& side) {
  if (!root.contains("storage") || !root["storage"].is_object()) return;
  const DiffJson& storage = root["storage"];
  for (const char* path : {"dataset", "checkpoint"}) {
    if (!storage.contains(path) || !storage[path].is_object()) continue;
    const DiffJson limits = storage[path].value("limits", DiffJson::array());
    for (const DiffJson& limit : limits) {
      side.storage_links.push_back({path, limit.value("id", ""), limit.value("name", ""),
                                    limit.value("ceiling_bytes_per_s", 0.0),
                                    limit.value("utilisation", 0.0)});
    }
  }
}

bool same_link(const StorageLink& a, const StorageLink& b) {
  constexpr double alike = 1e-6;
  return std::abs(a.ceiling_bytes_per_s - b.ceiling_bytes_per_s) <=
             alike * std::max(a.ceiling_bytes_per_s, b.ceiling_bytes_per_s) &&
         std::abs(a.utilisation - b.utilisation) <= alike;
}

/// Links of the base in its order, then those that only the new side has.
std::vector<LinkChange> changed_links(const Side& base, const Side& fresh) {
  std::vector<LinkChange> changes;
  const auto beside = [](const Side& side, const StorageLink& link) -> std::optional<StorageLink> {
    for (const StorageLink& other : side.storage_links)
      if (other.path == link.path && other.id == link.id) return other;
    return std::nullopt;
  };
  for (const StorageLink& link : base.storage_links) {
    const auto now = beside(fresh, link);
    if (now && same_link(link, *now)) continue;
    const bool renamed = now && now->label != link.label;
    changes.push_back(
        {link.path, renamed ? link.label + " -> " + now->label : link.label, link, now});
  }
  for (const StorageLink& link : fresh.storage_links)
    if (!beside(base, link)) changes.push_back({link.path, link.label, std::nullopt, link});
  return changes;
}

}  // namespace

std::optional<double> MetricChange::factor() const {
  if (!base || !fresh || *base == 0.0 || *fresh == 0.0) return std::nullopt;
  return *fresh / *base;
}

Seconds TermChange::difference() const {
  return fresh.value_or(Seconds{}) - base.value_or(Seconds{});
}

Side side_of(const scenario::Scenario& scenario, const scenario::Answer& answer) {
  Side side;
  side.name = answer.name;
  side.file = scenario.document.file();
  side.feasible = answer.feasible();
  side.reason = answer.reason();
  DiffJson inputs = scenario.document.root();
  for (const char* key : {"$schema", "name", "about", "checks"})
    inputs.erase(key);
  flatten(inputs, "", side.inputs);
  side.metrics = answer.estimate.metrics;
  side.time = answer.estimate.time;
  if (answer.storage) {
    if (answer.storage->data) add_links("dataset", answer.storage->data->limits, side);
    if (answer.storage->checkpoint)
      add_links("checkpoint", answer.storage->checkpoint->save_limits, side);
  }
  return side;
}

Result<Side> side_of(const JsonDocument& saved_result) {
  const DiffJson& root = saved_result.root();
  if (!root.is_object() || !root.contains("format_version") || !root.contains("metrics"))
    return fail(error(Code::wrong_kind_of_file, saved_result.place(""),
                      "this is no result of a scenario",
                      "`flowplan run ... -o json=FILE` writes it"));
  if (root["format_version"] != readable_result_version)
    return fail(
        error(Code::unsupported_feature, saved_result.place("/format_version"),
              fmt::format("results of format {} are not read", root["format_version"].dump()),
              fmt::format("this release reads format {}", readable_result_version)));
  Side side;
  side.file = saved_result.file();
  side.name = root.value("name", "");
  side.feasible = root.value("feasible", true);
  side.from_result = true;
  if (root.contains("infeasible")) side.reason = root["infeasible"].value("reason", "");
  for (const char* section : {"cluster", "workload"}) {
    if (!root.contains(section)) continue;
    DiffJson inputs = root[section];
    if (inputs.is_object()) inputs.erase("network");
    flatten(inputs, section, side.inputs);
  }
  for (const auto& [id, metric] : root["metrics"].items())
    if (metric.is_object() && metric.contains("value") && metric["value"].is_number())
      side.metrics.push_back({id, metric["value"].get<double>()});
  if (const DiffJson* const breakdown = find_breakdown(root))
    side.time = read_breakdown(*breakdown);
  read_links(root, side);
  return side;
}

Difference diff(Side base, Side fresh) {
  Difference difference;
  difference.inputs_comparable = base.from_result == fresh.from_result;
  if (difference.inputs_comparable) difference.inputs = changed_inputs(base, fresh);
  difference.metrics = compared_metrics(base, fresh);
  difference.terms = changed_terms(base.time, fresh.time);
  difference.links = changed_links(base, fresh);
  difference.base = std::move(base);
  difference.fresh = std::move(fresh);
  return difference;
}

}  // namespace flowplan::planner
