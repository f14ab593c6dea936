// Chakra's JSON variant, as et_feeder's JSON reader takes it: workload_graph[] of objects with the
// attributes as keys.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "readers.hpp"

namespace flowplan::replay {

namespace {

using GraphJson = nlohmann::ordered_json;

class GraphReader {
 public:
  GraphReader(const JsonDocument& document, const std::string& file)
      : document_(document), file_(file) {}

  Result<ExecutionTrace> run() {
    const GraphJson& graph = document_.root().at("workload_graph");
    if (!graph.is_array() || graph.empty()) {
      complain("/workload_graph", "expected a list of nodes");
      return fail(std::move(faults_));
    }
    std::vector<NamedNode> nodes;
    for (std::size_t i = 0; i < graph.size(); ++i)
      nodes.push_back(node(graph[i], child_pointer("/workload_graph", i)));
    if (!faults_.empty()) return fail(std::move(faults_));
    auto linked_nodes = linked(std::move(nodes), file_);
    if (!linked_nodes) return fail(std::move(linked_nodes.error()));
    ExecutionTrace trace;
    trace.format = TraceFormat::chakra_json;
    trace.ranks.push_back({file_, std::nullopt, std::move(*linked_nodes)});
    return trace;
  }

 private:
  void complain(const std::string& pointer, std::string what) {
    faults_.push_back(error(Code::bad_measurement, document_.place(pointer), std::move(what)));
  }

  double number(const GraphJson& object, const std::string& pointer, const char* key,
                bool required = false) {
    const auto found = object.find(key);
    if (found == object.end()) {
      if (required) complain(pointer, fmt::format("`{}` is missing", key));
      return 0.0;
    }
    if (found->is_boolean()) return found->get<bool>() ? 1.0 : 0.0;
    if (found->is_number()) return found->get<double>();
    complain(child_pointer(pointer, key), fmt::format("`{}`: expected a number", key));
    return 0.0;
  }

  void dependencies(const GraphJson& object, const std::string& pointer, const char* key,
                    std::vector<std::uint64_t>& into) {
    const auto found = object.find(key);
    if (found == object.end()) return;
    if (!found->is_array())
      return complain(child_pointer(pointer, key), fmt::format("`{}`: expected a list", key));
    for (const GraphJson& id : *found) {
      if (id.is_number_unsigned())
        into.push_back(id.get<std::uint64_t>());
      else
        complain(child_pointer(pointer, key), "an id is a whole number from 0");
    }
  }

  NamedNode node(const GraphJson& object, const std::string& pointer) {
    NamedNode made;
    if (!object.is_object()) {
      complain(pointer, "expected a node");
      return made;
    }
    const Place place = document_.place(pointer);
    made.where = fmt::format("line {}", place.line);
    made.node.at = static_cast<std::uint64_t>(place.line);
    const auto id = object.find("Id");
    if (id != object.end() && id->is_number_unsigned())
      made.id = id->get<std::uint64_t>();
    else
      complain(pointer, "`Id`: a whole number from 0 is needed");
    if (const auto text = object.find("Name"); text != object.end() && text->is_string())
      made.node.name = text->get<std::string>();
    ChakraNode chakra;
    chakra.type = static_cast<std::uint64_t>(number(object, pointer, "NodeType", true));
    chakra.on_cpu = number(object, pointer, "is_cpu_op") != 0.0;
    const double micros = number(object, pointer, "runtime");
    if (micros < 0.0) complain(child_pointer(pointer, "runtime"), "`runtime` is below 0");
    if (micros > 0.0) made.node.recorded = microseconds(micros);
    dependencies(object, pointer, "data_deps", made.after);
    dependencies(object, pointer, "ctrl_deps", made.after);
    chakra.operations = number(object, pointer, "num_ops");
    chakra.tensor_bytes = number(object, pointer, "tensor_size");
    chakra.comm_type = static_cast<std::uint64_t>(number(object, pointer, "comm_type"));
    chakra.comm_bytes = number(object, pointer, "comm_size");
    chakra.source = number(object, pointer, "comm_src");
    chakra.target = number(object, pointer, "comm_dst");
    chakra.tag = number(object, pointer, "comm_tag");
    if (const auto group = object.find("pg_name"); group != object.end() && group->is_string())
      chakra.group = group->get<std::string>();
    if (const auto flags = object.find("involved_dim"); flags != object.end() && flags->is_array())
      for (const GraphJson& flag : *flags)
        chakra.dimensions += (flag.is_boolean() ? flag.get<bool>() : flag == 1) ? '1' : '0';
    if (auto told = describe(chakra, file_, made.where, made.node); !told) {
      for (Diagnostic& fault : told.error()) {
        fault.place = place;
        faults_.push_back(std::move(fault));
      }
    }
    return made;
  }

  const JsonDocument& document_;
  const std::string& file_;
  Diagnostics faults_;
};

}  // namespace

Result<ExecutionTrace> parse_chakra_json(const JsonDocument& document, const std::string& file) {
  return GraphReader(document, file).run();
}

}  // namespace flowplan::replay
