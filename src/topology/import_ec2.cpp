// EC2 DescribeInstanceTopology: {"Instances": [{"InstanceId", "InstanceType", "NetworkNodes": [top,
// ..., nearest], "CapacityBlockId", ...}]}.
#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "flowplan/base/json_document.hpp"
#include "import_readers.hpp"

namespace flowplan::topology {
namespace {

using Json = nlohmann::ordered_json;

const std::vector<std::string> ec2_keys{"InstanceId",      "InstanceType",         "GroupName",
                                        "NetworkNodes",    "AvailabilityZone",     "ZoneId",
                                        "CapacityBlockId", "CapacityReservationId"};

class Ec2Reader {
 public:
  explicit Ec2Reader(const JsonDocument& document) : document_(document) {}

  Result<Imported> read() {
    imported_.format = ImportFormat::ec2;
    imported_.file = document_.file();
    const Json& root = document_.root();
    const auto instances = root.is_object() ? root.find("Instances") : root.end();
    if (!root.is_object() || instances == root.end()) {
      refuse(Code::missing_key, "", "Instances is missing",
             "the answer of `aws ec2 describe-instance-topology --output json`");
    } else if (!instances->is_array()) {
      refuse(Code::wrong_type, "/Instances", "Instances must be a list");
    } else {
      for (std::size_t i = 0; i < instances->size(); ++i)
        read_instance((*instances)[i], child_pointer("/Instances", i));
      if (instances->empty()) refuse(Code::bad_cluster, "/Instances", "no instance is listed");
      note(root);
    }
    if (!faults_.empty()) return fail(std::move(faults_));
    return std::move(imported_);
  }

 private:
  void refuse(Code code, const std::string& pointer, std::string message, std::string hint = {}) {
    faults_.push_back(error(code, document_.place(pointer), std::move(message), std::move(hint)));
  }

  void note(const Json& root) {
    if (const auto token = root.find("NextToken");
        token != root.end() && token->is_string() && !token->get<std::string>().empty())
      imported_.notes.push_back(
          "The answer has further pages (NextToken) that are not in the file.");
  }

  /// A string; "null", as the CLI prints for what is absent, and JSON's null are none.
  std::string text(const Json& entry, const std::string& pointer, const char* key, bool needed) {
    const auto found = entry.find(key);
    if (found == entry.end()) {
      if (needed)
        refuse(Code::missing_key, pointer, fmt::format("{} is missing", key),
               nearest_key(entry, key));
      return {};
    }
    if (found->is_null()) return {};
    if (!found->is_string()) {
      refuse(Code::wrong_type, child_pointer(pointer, key),
             fmt::format("{} must be a string", key));
      return {};
    }
    std::string value = found->get<std::string>();
    if (value == "null") value.clear();
    if (value.empty() && needed)
      refuse(Code::value_not_allowed, child_pointer(pointer, key), fmt::format("{} is empty", key));
    return value;
  }

  static std::string nearest_key(const Json& entry, const char* key) {
    std::vector<std::string> keys;
    for (const auto& [name, value] : entry.items())
      if (std::find(ec2_keys.begin(), ec2_keys.end(), name) == ec2_keys.end()) keys.push_back(name);
    const auto near = nearest(key, keys);
    return near ? fmt::format("`{}` is no key of this answer", *near) : std::string{};
  }

  void read_instance(const Json& entry, const std::string& pointer) {
    if (!entry.is_object())
      return refuse(Code::wrong_type, pointer, "an instance must be an object");
    ImportedNode node;
    node.place = document_.place(pointer);
    node.name = text(entry, pointer, "InstanceId", true);
    node.instance_type = text(entry, pointer, "InstanceType", true);
    node.domain = text(entry, pointer, "CapacityBlockId", false);
    read_network_nodes(entry, pointer, node);
    if (!node.name.empty() && !seen_.insert(node.name).second)
      refuse(Code::bad_cluster, child_pointer(pointer, "InstanceId"),
             fmt::format("instance {} is listed twice", node.name));
    imported_.nodes.push_back(std::move(node));
  }

  void read_network_nodes(const Json& entry, const std::string& pointer, ImportedNode& node) {
    const std::string list = child_pointer(pointer, "NetworkNodes");
    const auto nodes = entry.find("NetworkNodes");
    if (nodes == entry.end())
      return refuse(Code::missing_key, pointer, "NetworkNodes is missing",
                    nearest_key(entry, "NetworkNodes"));
    if (!nodes->is_array() || nodes->empty())
      return refuse(Code::wrong_type, list, "NetworkNodes must be a list of network nodes",
                    "the top one first, 3 or 4 of them");
    for (std::size_t i = 0; i < nodes->size(); ++i) {
      const Json& name = (*nodes)[i];
      if (!name.is_string() || name.get<std::string>().empty() || name == "null")
        return refuse(Code::wrong_type, child_pointer(list, i), "a network node must be a name");
      node.switches.push_back(name.get<std::string>());
    }
  }

  const JsonDocument& document_;
  Imported imported_;
  Diagnostics faults_;
  std::set<std::string> seen_;
};

}  // namespace

Result<Imported> read_ec2(std::string text, const std::string& file) {
  const auto document = JsonDocument::parse(std::move(text), file);
  if (!document) return fail(document.error());
  return Ec2Reader(*document).read();
}

}  // namespace flowplan::topology
