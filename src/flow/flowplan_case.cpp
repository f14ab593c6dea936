#include "flowplan_case.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "case_limits.hpp"
#include "flowplan/base/json_schema.hpp"
#include "path_gap.hpp"
#include "shortest_paths.hpp"

namespace flowplan::flow {
namespace {

using Json = nlohmann::ordered_json;

/// A quantity may be spelt in several units; each key says which.
struct UnitKey {
  const char* key;
  double in_base_units;
};
constexpr double giga = 1e9, bits_a_byte = 8.0;
constexpr std::array bandwidth_keys{UnitKey{"bytes_per_s", 1.0}, UnitKey{"gbytes_per_s", giga},
                                    UnitKey{"gbits_per_s", giga / bits_a_byte}};
constexpr std::array cap_keys{UnitKey{"cap_bytes_per_s", 1.0}, UnitKey{"cap_gbytes_per_s", giga},
                              UnitKey{"cap_gbits_per_s", giga / bits_a_byte}};
constexpr std::array amount_keys{UnitKey{"bytes", 1.0}, UnitKey{"gbytes", giga}};

/// Names and the first position at which each occurs.
class NameIndex {
 public:
  /// False when the name is taken.
  bool add(std::string name, std::uint32_t position) {
    return positions_.try_emplace(std::move(name), position).second;
  }
  [[nodiscard]] std::optional<std::uint32_t> find(const std::string& name) const {
    const auto found = positions_.find(name);
    return found == positions_.end() ? std::nullopt : std::optional(found->second);
  }
  [[nodiscard]] std::size_t size() const { return positions_.size(); }
  /// The nearest of the names; nothing where there are too many to look at.
  [[nodiscard]] std::string nearest_to(const std::string& name) const {
    if (positions_.size() > most_candidates) return {};
    std::vector<std::string> names;
    for (const auto& [known, position] : positions_)
      names.push_back(known);
    std::sort(names.begin(), names.end());
    return suggest(name, names);
  }

 private:
  static constexpr std::size_t most_candidates = 10000;
  std::unordered_map<std::string, std::uint32_t> positions_;
};

/// Reads a document that follows the schema.
class CaseReader {
 public:
  explicit CaseReader(const JsonDocument& document) : document_(document) {}

  Result<Case> read() {
    const Json& root = document_.root();
    case_.name = root.value("name", "");
    case_.about = root.value("about", "");
    if (root.contains("nodes")) read_nodes(root["nodes"]);
    read_links(root["links"], !root.contains("nodes"));
    if (!faults_.empty()) return fail(std::move(faults_));  // paths would only repeat them
    read_flows(root["flows"]);
    find_paths();
    if (root.contains("tasks")) read_tasks(root["tasks"]);
    if (!faults_.empty()) return fail(std::move(faults_));
    write_flows();
    return std::move(case_);
  }

 private:
  /// A flow as the file lists it. Tasks may put flows in another order.
  struct Draft {
    std::string name;
    std::uint32_t source = nowhere, target = nowhere;
    FlowSpec spec;
    std::vector<Use> uses;
    std::uint32_t task = nowhere;
    bool sound = true;  // enough to look for a path
  };

  /// A file with more faults than this is most likely not what it says it is.
  static constexpr std::size_t most_faults = 50;
  [[nodiscard]] bool enough() const { return faults_.size() >= most_faults; }

  void fault(Code code, const std::string& pointer, std::string message, std::string hint = {}) {
    if (enough()) return;
    faults_.push_back(error(code, document_.place(pointer), std::move(message), std::move(hint)));
  }

  /// The value of the one key that is given; nothing for none.
  template <std::size_t n>
  std::optional<double> quantity(const Json& object, const std::string& at,
                                 const std::array<UnitKey, n>& keys, double least, double most) {
    std::optional<double> value;
    const char* given = nullptr;
    for (const auto& [key, unit] : keys) {
      const auto found = object.find(key);
      if (found == object.end()) continue;
      if (given != nullptr) {
        fault(Code::bad_flow_case, child_pointer(at, key),
              fmt::format("both `{}` and `{}` are given", given, key), "keep one of them");
        return value;
      }
      given = key;
      value = found->template get<double>() * unit;
      if (!(*value >= least && *value <= most)) {
        fault(Code::value_out_of_range, child_pointer(at, key),
              fmt::format("`{}` is {}", key, found->dump()),
              fmt::format("{:g} to {:g} in bytes", least, most));
        value = std::clamp(*value, least, most);
      }
    }
    return value;
  }

  template <std::size_t n>
  double needed(const Json& object, const std::string& at, const std::array<UnitKey, n>& keys,
                double least, double most) {
    const std::size_t before = faults_.size();
    const auto value = quantity(object, at, keys, least, most);
    if (value) return *value;
    if (faults_.size() == before) {
      fault(Code::missing_key, at, fmt::format("key `{}` is missing", keys[0].key),
            fmt::format("or the same in another unit: {}", keys[1].key));
    }
    return most;
  }

  void read_nodes(const Json& nodes) {
    for (std::size_t n = 0; n < nodes.size(); ++n) {
      const auto name = nodes[n].get<std::string>();
      if (!nodes_.add(name, case_.nodes.add(name))) {
        fault(Code::bad_flow_case, child_pointer("/nodes", n),
              fmt::format("node `{}` is listed twice", name));
      }
    }
  }

  /// The node that a key names; `nowhere` after a fault.
  std::uint32_t node(const Json& object, const std::string& at, const char* key, bool may_be_new) {
    const auto name = object[key].get<std::string>();
    if (const auto known = nodes_.find(name)) return *known;
    if (may_be_new) {
      const std::uint32_t added = case_.nodes.add(name);
      nodes_.add(name, added);
      return added;
    }
    fault(Code::bad_flow_case, child_pointer(at, key), fmt::format("there is no node `{}`", name),
          nodes_.nearest_to(name));
    return nowhere;
  }

  void read_links(const Json& links, bool new_nodes) {
    for (std::size_t l = 0; l < links.size() && !enough(); ++l) {
      const Json& link = links[l];
      const std::string at = child_pointer("/links", l);
      const std::uint32_t from = node(link, at, "from", new_nodes);
      const std::uint32_t to = node(link, at, "to", new_nodes);
      const double capacity = needed(link, at, bandwidth_keys, least_capacity, most_capacity);
      const std::string name = link.value("name", "");
      if (from == nowhere || to == nowhere) continue;
      add_link(at, name, from, to, capacity);
      if (link.value("both_ways", false)) {
        add_link(at, name.empty() ? name : name + ".back", to, from, capacity);
      }
    }
  }

  void add_link(const std::string& at, const std::string& name, std::uint32_t from,
                std::uint32_t to, double capacity) {
    const auto id = static_cast<std::uint32_t>(case_.network.size());
    case_.network.capacity.push_back(capacity);
    case_.link_from.push_back(from);
    case_.link_to.push_back(to);
    case_.own_link_names.add(name);
    if (links_.add(case_.link_name(id), id)) return;
    fault(Code::bad_flow_case, at,
          fmt::format("there is an earlier link `{}`", case_.link_name(id)),
          "parallel links need a `name` each");
  }

  void read_flows(const Json& flows) {
    drafts_.reserve(flows.size());
    for (std::size_t f = 0; f < flows.size() && !enough(); ++f) {
      drafts_.emplace_back();
      read_flow(flows[f], child_pointer("/flows", f), drafts_.back());
    }
  }

  static std::string id_text(const Json& id) {
    return id.is_string() ? id.get<std::string>() : id.dump();
  }

  void read_flow(const Json& flow, const std::string& at, Draft& draft) {
    const auto position = static_cast<std::uint32_t>(drafts_.size() - 1);
    draft.name = flow.contains("id") ? id_text(flow["id"]) : std::to_string(position);
    if (!flows_.add(draft.name, position)) {
      fault(Code::bad_flow_case, flow.contains("id") ? child_pointer(at, "id") : at,
            fmt::format("flow id {} is taken by an earlier flow", draft.name),
            "a flow without an id is called by its position, from 0");
    }
    draft.source = node(flow, at, "source", false);
    draft.target = node(flow, at, "target", false);
    draft.sound = draft.source != nowhere && draft.target != nowhere;
    draft.spec.bytes = needed(flow, at, amount_keys, 0.0, most_bytes);
    draft.spec.start_s = flow.value("start_s", 0.0);
    draft.spec.weight = flow.value("weight", 1.0);
    draft.spec.cap_per_s =
        quantity(flow, at, cap_keys, least_capacity, most_capacity).value_or(unlimited);
    if (flow.contains("path")) read_path(flow["path"], child_pointer(at, "path"), draft);
  }

  void read_path(const Json& path, const std::string& at, Draft& draft) {
    for (std::size_t i = 0; i < path.size(); ++i) {
      const auto name = path[i].get<std::string>();
      const auto link = links_.find(name);
      if (!link) {
        fault(Code::bad_flow_case, child_pointer(at, i), fmt::format("there is no link `{}`", name),
              links_.nearest_to(name));
        draft.sound = false;
        return;
      }
      if (crosses(draft, *link)) {
        fault(Code::bad_flow_case, child_pointer(at, i),
              fmt::format("the path crosses link `{}` twice", name));
        draft.sound = false;
        return;
      }
      draft.uses.push_back({LinkId{*link}});
    }
    if (!draft.sound || draft.uses.empty()) return;
    if (const auto gap = find_gap(case_, draft.uses, draft.source, draft.target)) {
      fault(Code::bad_flow_case, child_pointer(at, gap->hop), gap->message);
      draft.sound = false;
    }
  }

  static bool crosses(const Draft& draft, std::uint32_t link) {
    return std::any_of(draft.uses.begin(), draft.uses.end(),
                       [&](const Use& use) { return index(use.link) == link; });
  }

  /// Paths of the flows that give none, source by source, then what depends on paths.
  void find_paths() {
    const Json& flows = document_.root()["flows"];
    std::vector<std::uint32_t> order;
    for (std::uint32_t f = 0; f < drafts_.size(); ++f) {
      if (drafts_[f].sound && !flows[f].contains("path")) order.push_back(f);
    }
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
      return drafts_[a].source < drafts_[b].source;
    });
    if (!order.empty()) {
      ShortestPaths paths(case_);
      for (const std::uint32_t f : order) {
        Draft& draft = drafts_[f];
        const auto found = paths.find(draft.source, draft.target);
        if (!found) {
          fault(Code::no_route, child_pointer("/flows", f),
                fmt::format("no links lead from `{}` to `{}`", case_.nodes[draft.source],
                            case_.nodes[draft.target]));
          draft.sound = false;
          continue;
        }
        for (const LinkId link : *found)
          draft.uses.push_back({link});
      }
    }
    for (std::uint32_t f = 0; f < drafts_.size() && !enough(); ++f) {
      if (drafts_[f].sound) finish_flow(flows[f], child_pointer("/flows", f), drafts_[f]);
    }
  }

  void finish_flow(const Json& flow, const std::string& at, Draft& draft) {
    if (draft.uses.empty() && draft.spec.cap_per_s == unlimited) {
      fault(Code::bad_flow_case, at, fmt::format("nothing limits flow {}", draft.name),
            "give it a path or a cap");
    }
    if (!flow.contains("coefficients")) return;
    for (const auto& [name, value] : flow["coefficients"].items()) {
      const auto link = links_.find(name);
      if (!link || !crosses(draft, *link)) {
        fault(Code::bad_flow_case, child_pointer(child_pointer(at, "coefficients"), name),
              fmt::format("flow {} does not cross a link `{}`", draft.name, name),
              link ? std::string() : links_.nearest_to(name));
        continue;
      }
      for (Use& use : draft.uses) {
        if (index(use.link) == *link) use.coefficient = value.get<double>();
      }
    }
  }

  void read_tasks(const Json& tasks) {
    NameIndex names;
    for (std::uint32_t t = 0; t < tasks.size(); ++t) {
      const auto name = tasks[t]["name"].get<std::string>();
      if (!names.add(name, t)) {
        fault(Code::bad_flow_case, child_pointer(child_pointer("/tasks", t), "name"),
              fmt::format("there is an earlier task `{}`", name));
      }
      case_.tasks.push_back(
          {name, tasks[t].value("delay_s", 0.0), 0, 0, tasks[t].value("repeat", std::uint32_t{1})});
      flows_of_task_.emplace_back();
    }
    for (std::uint32_t t = 0; t < tasks.size() && !enough(); ++t) {
      const std::string at = child_pointer("/tasks", t);
      if (tasks[t].contains("after")) {
        read_after(tasks[t]["after"], child_pointer(at, "after"), t, names);
      }
      if (tasks[t].contains("flows")) claim(tasks[t]["flows"], child_pointer(at, "flows"), t);
    }
    for (std::uint32_t f = 0; f < drafts_.size(); ++f) {
      if (drafts_[f].task == nowhere && !case_.tasks.empty()) {
        fault(Code::bad_flow_case, child_pointer("/flows", f),
              fmt::format("no task has flow {}", drafts_[f].name),
              "where there are tasks, each flow belongs to one");
      }
    }
  }

  void read_after(const Json& after, const std::string& at, std::uint32_t task,
                  const NameIndex& names) {
    for (std::size_t i = 0; i < after.size(); ++i) {
      const auto name = after[i].get<std::string>();
      if (const auto before = names.find(name)) {
        case_.dependencies.emplace_back(TaskId{*before}, TaskId{task});
      } else {
        fault(Code::dangling_dependency, child_pointer(at, i),
              fmt::format("there is no task `{}`", name), names.nearest_to(name));
      }
    }
  }

  void claim(const Json& flows, const std::string& at, std::uint32_t task) {
    for (std::size_t i = 0; i < flows.size(); ++i) {
      const std::string name = id_text(flows[i]);
      const auto flow = flows_.find(name);
      if (!flow) {
        fault(Code::bad_flow_case, child_pointer(at, i), fmt::format("there is no flow {}", name),
              flows_.nearest_to(name));
      } else if (std::uint32_t& owner = drafts_[*flow].task; owner != nowhere) {
        fault(Code::bad_flow_case, child_pointer(at, i),
              fmt::format("task `{}` has flow {} already", case_.tasks[owner].name, name));
      } else {
        owner = task;
        flows_of_task_[task].push_back(*flow);
      }
    }
  }

  /// Flows in the order of the file, or task by task.
  void write_flows() {
    std::vector<std::uint32_t> order(case_.tasks.empty() ? drafts_.size() : 0);
    std::iota(order.begin(), order.end(), 0U);
    for (std::size_t t = 0; t < case_.tasks.size(); ++t) {
      case_.tasks[t].flow_begin = static_cast<std::uint32_t>(order.size());
      order.insert(order.end(), flows_of_task_[t].begin(), flows_of_task_[t].end());
      case_.tasks[t].flow_end = static_cast<std::uint32_t>(order.size());
    }
    for (const std::uint32_t f : order) {
      const Draft& draft = drafts_[f];
      case_.flows.add(draft.uses, draft.spec);
      case_.flow_source.push_back(draft.source);
      case_.flow_target.push_back(draft.target);
      case_.own_flow_names.add(draft.name);
    }
  }

  const JsonDocument& document_;
  Case case_;
  NameIndex nodes_, links_, flows_;
  std::vector<Draft> drafts_;
  std::vector<std::vector<std::uint32_t>> flows_of_task_;
  Diagnostics faults_;
};

}  // namespace

Result<Case> read_flowplan_case(const JsonDocument& document, const JsonDocument& schema) {
  if (Diagnostics faults = validate(document, schema); !faults.empty()) {
    return fail(std::move(faults));
  }
  return CaseReader(document).read();
}

}  // namespace flowplan::flow
