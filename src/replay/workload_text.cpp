// ASTRA-sim's text workloads, one layer a line, as one pass forward and back. The order of phases
// is that of ASTRA-sim's training loops.
#include <charconv>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "readers.hpp"

namespace flowplan::replay {

namespace {

struct Exchange {
  std::optional<collective::Operation> operation;  ///< nothing: NONE
  double bytes = 0.0;
};

struct LayerLine {
  std::string name;
  int line = 0;
  double forward_us = 0.0, input_us = 0.0, weight_us = 0.0, update_us = 0.0;
  Exchange forward, input, weight;
};

enum class Loop { data, model, hybrid, micro };

std::vector<std::string_view> columns_of(std::string_view line) {
  std::vector<std::string_view> words;
  constexpr std::string_view blanks = " \t\r";
  for (std::size_t at = line.find_first_not_of(blanks); at != std::string_view::npos;
       at = line.find_first_not_of(blanks, at)) {
    const std::size_t end = std::min(line.find_first_of(blanks, at), line.size());
    words.push_back(line.substr(at, end - at));
    at = end;
  }
  return words;
}

class WorkloadReader {
 public:
  WorkloadReader(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  Result<ExecutionTrace> run() {
    const auto loop = first_line();
    if (!loop) return fail(std::move(faults_));
    read_layers();
    if (!faults_.empty()) return fail(std::move(faults_));
    ExecutionTrace trace;
    trace.format = TraceFormat::workload_text;
    build(*loop);
    trace.ranks.push_back({file_, std::nullopt, std::move(nodes_)});
    trace.notes.push_back("compute times of the text workload are taken as microseconds");
    return trace;
  }

 private:
  using Id = std::optional<std::uint32_t>;

  std::string_view next_line() {
    const std::size_t end = std::min(text_.find('\n', at_), text_.size());
    const std::string_view line = text_.substr(at_, end - at_);
    at_ = std::min(end + 1, text_.size());
    ++line_;
    return line;
  }

  void complain(std::string what, std::string hint = {}, Code code = Code::bad_measurement) {
    faults_.push_back(error(code, in_file(file_, line_), std::move(what), std::move(hint)));
  }

  std::optional<Loop> first_line() {
    const auto words = columns_of(next_line());
    const std::string_view kind = words.empty() ? std::string_view() : words[0];
    if (kind == "DATA") return Loop::data;
    if (kind == "MODEL") return Loop::model;
    if (kind == "HYBRID_DATA_MODEL" || kind == "HYBRID_MODEL_DATA") return Loop::hybrid;
    if (kind == "MICRO") return Loop::micro;
    const std::string hint =
        "DATA, MODEL, HYBRID_DATA_MODEL, HYBRID_MODEL_DATA and MICRO are replayed";
    if (kind == "HYBRID_DLRM" || kind == "HYBRID_DLRM_ENHANCED")
      complain(fmt::format("{} is not replayed", kind), hint, Code::unsupported_feature);
    else
      complain(fmt::format("`{}` is no kind of parallelism", kind), hint);
    return std::nullopt;
  }

  double number(std::string_view word, std::string_view what) {
    double value = 0.0;
    const auto [end, code] = std::from_chars(word.data(), word.data() + word.size(), value);
    constexpr double most = 1e18;
    if (code != std::errc{} || end != word.data() + word.size() || !(value >= 0.0 && value <= most))
      complain(fmt::format("{}: `{}` is no number from 0", what, word));
    return value;
  }

  Exchange exchange(std::string_view type, std::string_view bytes, std::string_view what) {
    Exchange made;
    made.bytes = number(bytes, fmt::format("bytes of the {} collective", what));
    if (type == "ALLREDUCE")
      made.operation = collective::Operation::all_reduce;
    else if (type == "ALLTOALL")
      made.operation = collective::Operation::all_to_all;
    else if (type == "ALLGATHER")
      made.operation = collective::Operation::all_gather;
    else if (type == "REDUCESCATTER")
      made.operation = collective::Operation::reduce_scatter;
    else if (type != "NONE")
      complain(fmt::format("`{}` is no collective", type),
               "NONE, ALLREDUCE, ALLTOALL, ALLGATHER or REDUCESCATTER");
    return made;
  }

  void read_layers() {
    constexpr std::size_t columns = 12;
    const double count = number(next_line(), "the number of layers");
    if (!faults_.empty()) return;
    while (at_ < text_.size()) {
      const auto words = columns_of(next_line());
      if (words.empty()) continue;
      if (words.size() != columns) {
        complain(fmt::format("a layer has {} columns, here are {}", columns, words.size()),
                 "name, dependency, then time, collective and bytes of forward, input gradient "
                 "and weight gradient, update time");
        continue;
      }
      LayerLine layer;
      layer.name = std::string(words[0]);
      layer.line = line_;
      layer.forward_us = number(words[2], "forward time");
      layer.forward = exchange(words[3], words[4], "forward");
      layer.input_us = number(words[5], "time of input gradients");
      layer.input = exchange(words[6], words[7], "input gradients'");
      layer.weight_us = number(words[8], "time of weight gradients");
      layer.weight = exchange(words[9], words[10], "weight gradients'");
      layer.update_us = number(words[11], "update time");
      layers_.push_back(std::move(layer));
    }
    if (faults_.empty() && (layers_.empty() || static_cast<double>(layers_.size()) != count))
      complain(fmt::format("line 2 says {:.0f} layers, {} follow", count, layers_.size()));
  }

  Id add(Node node, const LayerLine& layer, std::initializer_list<Id> after) {
    node.at = static_cast<std::uint64_t>(layer.line);
    for (const Id& one : after)
      if (one) node.after.push_back(*one);
    nodes_.push_back(std::move(node));
    return static_cast<std::uint32_t>(nodes_.size() - 1);
  }

  Id compute(const LayerLine& layer, const char* phase, double us,
             std::initializer_list<Id> after) {
    Node node;
    node.name = fmt::format("{} {}", layer.name, phase);
    node.work = Work::compute;
    node.recorded = microseconds(us);
    return add(std::move(node), layer, after);
  }

  /// The collective after `before`; where there is none, `before`.
  Id exchange_after(const LayerLine& layer, const char* phase, const Exchange& what,
                    const char* group, Id before) {
    if (!what.operation || what.bytes == 0.0) return before;
    Node node;
    node.name = fmt::format("{} {}", layer.name, phase);
    node.work = Work::collective;
    node.operation = *what.operation;
    node.size = Bytes(what.bytes);
    node.group = group;
    return add(std::move(node), layer, {before});
  }

  void build(Loop loop) {
    const char* model = loop == Loop::hybrid ? "model" : "";
    const char* data = loop == Loop::hybrid ? "data" : "";
    if (loop == Loop::micro) {
      for (const LayerLine& layer : layers_)
        exchange_after(layer, "collective", layer.weight, "", std::nullopt);
      return;
    }
    Id last;
    for (const LayerLine& layer : layers_) {
      last = compute(layer, "forward", layer.forward_us, {last});
      if (loop != Loop::data)
        last = exchange_after(layer, "forward collective", layer.forward, model, last);
    }
    std::vector<Id> reduced(layers_.size());
    Id exchanged;  // the input gradients of the layer above
    for (std::size_t i = layers_.size(); i-- > 0;) {
      const LayerLine& layer = layers_[i];
      const auto weights = [&] {
        last = compute(layer, "weight gradients", layer.weight_us, {last});
        reduced[i] = loop == Loop::model ? last
                                         : exchange_after(layer, "weight gradients' collective",
                                                          layer.weight, data, last);
      };
      if (loop == Loop::data) {
        weights();
        if (i > 0) last = compute(layer, "input gradients", layer.input_us, {last});
        continue;
      }
      last = compute(layer, "input gradients", layer.input_us, {last, exchanged});
      exchanged =
          i > 0 ? exchange_after(layer, "input gradients' collective", layer.input, model, last)
                : Id();
      weights();
    }
    // Last, because what stands in one stream runs in the order of the list.
    for (std::size_t i = layers_.size(); i-- > 0;)
      if (layers_[i].update_us > 0.0)
        compute(layers_[i], "update", layers_[i].update_us, {reduced[i]});
  }

  std::string_view text_;
  const std::string& file_;
  std::size_t at_ = 0;
  int line_ = 0;
  std::vector<LayerLine> layers_;
  std::vector<Node> nodes_;
  Diagnostics faults_;
};

}  // namespace

Result<ExecutionTrace> parse_workload(std::string_view text, const std::string& file) {
  return WorkloadReader(text, file).run();
}

}  // namespace flowplan::replay
