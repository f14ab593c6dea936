#include "oracle_case.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "case_limits.hpp"
#include "path_gap.hpp"

namespace flowplan::flow {
namespace {

using Json = nlohmann::ordered_json;

/// A file with more faults than this is most likely not what it says it is; the rest is not listed.
constexpr std::size_t most_faults = 50;

/// What a number may be.
struct Range {
  double least, most;
  std::string_view text;
};
constexpr Range capacity_range{least_capacity, most_capacity, "1e-6 to 1e24 bytes a second"};
constexpr Range bytes_range{0.0, most_bytes, "0 to 1e24 bytes"};
constexpr Range start_range{0.0, most_seconds, "0 to 1e12 seconds"};

struct Key {
  std::string_view name;
  bool required;
};
constexpr std::array case_keys{
    Key{"format", true},         Key{"name", false},       Key{"about", false},
    Key{"source", false},        Key{"links", true},       Key{"flows", true},
    Key{"tolerance_rel", false}, Key{"makespan_s", false}, Key{"$schema", false}};
constexpr std::array link_keys{Key{"id", true}, Key{"from", true}, Key{"to", true},
                               Key{"bytes_per_s", true}};
constexpr std::array flow_keys{Key{"id", true},      Key{"source", true},
                               Key{"target", true},  Key{"bytes", true},
                               Key{"start_s", true}, Key{"path", true},
                               Key{"end_s", false},  Key{"first_rate_bytes_per_s", false}};

class OracleReader {
 public:
  explicit OracleReader(const JsonDocument& document) : document_(document) {}

  Result<Case> read() {
    const Json& root = document_.root();
    check_keys(root, "", case_keys);
    case_.name = text(root, "", "name").value_or("");
    case_.about = text(root, "", "about").value_or("");
    read_links();
    read_flows();
    if (!faults_.empty()) return fail(std::move(faults_));
    return std::move(case_);
  }

 private:
  [[nodiscard]] bool enough() const { return faults_.size() >= most_faults; }

  void fault(Code code, const std::string& pointer, std::string message, std::string hint = {}) {
    if (!enough()) {
      faults_.push_back(error(code, document_.place(pointer), std::move(message), std::move(hint)));
    }
  }

  void check_keys(const Json& object, const std::string& at, std::span<const Key> keys) {
    for (const auto& member : object.items()) {
      const std::string& name = member.key();
      if (std::any_of(keys.begin(), keys.end(), [&](const Key& k) { return k.name == name; })) {
        continue;
      }
      std::vector<std::string> known;
      for (const Key& key : keys)
        known.emplace_back(key.name);
      if (!enough()) {
        faults_.push_back(error(Code::unknown_key, document_.key_place(child_pointer(at, name)),
                                fmt::format("unknown key `{}`", name), suggest(name, known)));
      }
    }
    for (const Key& key : keys) {
      if (key.required && !object.contains(key.name)) {
        fault(Code::missing_key, at, fmt::format("key `{}` is missing", key.name));
      }
    }
  }

  std::optional<std::string> text(const Json& object, const std::string& at, const char* key) {
    const auto found = object.find(key);
    if (found == object.end()) return std::nullopt;
    if (found->is_string()) return found->get<std::string>();
    wrong_type(child_pointer(at, key), *found, "a text");
    return std::nullopt;
  }

  std::optional<double> number(const Json& object, const std::string& at, const char* key,
                               const Range& range) {
    const auto found = object.find(key);
    if (found == object.end()) return std::nullopt;
    const std::string pointer = child_pointer(at, key);
    if (!found->is_number()) {
      wrong_type(pointer, *found, "a number");
      return std::nullopt;
    }
    const double value = found->get<double>();
    if (value >= range.least && value <= range.most) return value;
    fault(Code::value_out_of_range, pointer, fmt::format("`{}` is {}", key, found->dump()),
          fmt::format("allowed: {}", range.text));
    return std::nullopt;
  }

  const Json* array(const char* key) {
    const auto found = document_.root().find(key);
    if (found == document_.root().end()) return nullptr;
    if (found->is_array()) return &*found;
    wrong_type(child_pointer("", key), *found, "an array");
    return nullptr;
  }

  void wrong_type(const std::string& pointer, const Json& value, std::string_view wanted) {
    fault(Code::wrong_type, pointer,
          fmt::format("expected {}, found {}", wanted, value.type_name()));
  }

  bool is_object(const Json& value, const std::string& at) {
    if (!value.is_object()) wrong_type(at, value, "an object");
    return value.is_object();
  }

  void read_links() {
    const Json* links = array("links");
    if (links == nullptr) return;
    for (std::size_t l = 0; l < links->size() && !enough(); ++l) {
      case_.network.capacity.push_back(1.0);
      case_.link_from.push_back(nowhere);
      case_.link_to.push_back(nowhere);
      const Json& link = (*links)[l];
      const std::string at = child_pointer("/links", l);
      if (!is_object(link, at)) continue;
      check_keys(link, at, link_keys);
      if (link.contains("id") && link["id"] != l) {
        fault(Code::bad_flow_case, child_pointer(at, "id"),
              fmt::format("link {} has id {}", l, link["id"].dump()),
              "ids of links count from 0 in the order of the file");
      }
      case_.link_from.back() = node(link, at, "from");
      case_.link_to.back() = node(link, at, "to");
      case_.network.capacity.back() = number(link, at, "bytes_per_s", capacity_range).value_or(1.0);
    }
  }

  void read_flows() {
    const Json* flows = array("flows");
    if (flows == nullptr) return;
    for (std::size_t f = 0; f < flows->size() && !enough(); ++f) {
      const Json& flow = (*flows)[f];
      const std::string at = child_pointer("/flows", f);
      if (is_object(flow, at)) read_flow(flow, at);
    }
  }

  void read_flow(const Json& flow, const std::string& at) {
    check_keys(flow, at, flow_keys);
    read_flow_id(flow, at);
    FlowSpec spec;
    spec.bytes = number(flow, at, "bytes", bytes_range).value_or(0.0);
    spec.start_s = number(flow, at, "start_s", start_range).value_or(0.0);
    const std::uint32_t source = node(flow, at, "source"), target = node(flow, at, "target");
    uses_.clear();
    if (const auto path = flow.find("path"); path != flow.end()) {
      if (read_path(*path, child_pointer(at, "path")) && source != nowhere && target != nowhere) {
        if (const auto gap = find_gap(case_, uses_, source, target)) {
          fault(Code::bad_flow_case, child_pointer(child_pointer(at, "path"), gap->hop),
                gap->message);
        }
      }
    }
    case_.flows.add(uses_, spec);
    case_.flow_source.push_back(source);
    case_.flow_target.push_back(target);
  }

  void read_flow_id(const Json& flow, const std::string& at) {
    const auto id = flow.find("id");
    if (id == flow.end()) return;
    const std::string pointer = child_pointer(at, "id");
    if (!id->is_string() && !id->is_number_unsigned()) {
      return wrong_type(pointer, *id, "a text or a whole number");
    }
    const std::string name = id->is_string() ? id->get<std::string>() : id->dump();
    case_.own_flow_names.add(name);
    if (!flow_names_.insert(name).second) {
      fault(Code::bad_flow_case, pointer,
            fmt::format("flow id {} is taken by an earlier flow", name));
    }
  }

  /// Appends the links of a path to `uses_`; false when one of them is faulty.
  bool read_path(const Json& path, const std::string& at) {
    if (!path.is_array()) return wrong_type(at, path, "an array"), false;
    if (path.empty()) {
      fault(Code::bad_flow_case, at, "the path is empty", "a flow crosses at least one link");
      return false;
    }
    bool sound = true;
    for (std::size_t i = 0; i < path.size(); ++i) {
      const std::string pointer = child_pointer(at, i);
      if (!path[i].is_number_unsigned()) {
        wrong_type(pointer, path[i], "the id of a link");
        sound = false;
      } else if (path[i] >= case_.network.size()) {
        fault(Code::bad_flow_case, pointer, fmt::format("there is no link {}", path[i].dump()),
              fmt::format("there are {} links, counted from 0", case_.network.size()));
        sound = false;
      } else {
        const LinkId link{path[i].get<std::uint32_t>()};
        const bool twice = std::any_of(uses_.begin(), uses_.end(),
                                       [&](const Use& use) { return use.link == link; });
        if (twice) {
          fault(Code::bad_flow_case, pointer,
                fmt::format("the path crosses link {} twice", index(link)));
          sound = false;
        }
        uses_.push_back({link});
      }
    }
    return sound;
  }

  /// The node that a key names, new or known.
  std::uint32_t node(const Json& object, const std::string& at, const char* key) {
    const std::optional<std::string> name = text(object, at, key);
    if (!name) return nowhere;
    const auto [found, is_new] = nodes_.try_emplace(*name, case_.nodes.size());
    if (is_new) case_.nodes.add(*name);
    return static_cast<std::uint32_t>(found->second);
  }

  const JsonDocument& document_;
  Case case_;
  std::unordered_map<std::string, std::size_t> nodes_;
  std::unordered_set<std::string> flow_names_;
  std::vector<Use> uses_;  // of the flow at hand
  Diagnostics faults_;
};

}  // namespace

Result<Case> read_oracle_case(const JsonDocument& document) {
  return OracleReader(document).read();
}

}  // namespace flowplan::flow
