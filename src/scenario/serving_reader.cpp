#include "serving_reader.hpp"

#include <algorithm>
#include <filesystem>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "flowplan/base/parse_quantity.hpp"
#include "flowplan/inference/engine_profile.hpp"
#include "model_reader.hpp"
#include "token_count.hpp"

namespace flowplan::scenario {

namespace {

using ServingJson = nlohmann::ordered_json;
using inference::Arrivals;

constexpr double default_input_tokens = 1024.0;
constexpr double default_output_tokens = 256.0;
/// Tokens of a block by which the simulated prompts say what they share; engines use 16 or 32.
constexpr std::uint32_t shared_block_tokens = 16;

class ServingReader {
 public:
  ServingReader(const catalog::Catalog& catalog, const JsonDocument& document, PlacedFaults& faults)
      : catalog_(catalog), document_(document), faults_(faults) {}

  ServingSection read() {
    const ServingJson& json = document_.root()["workload"];
    if (json.contains("model"))
      section_.model = read_model(catalog_, document_, faults_, section_.checkpoint);
    if (json.contains("engine")) engine(json["engine"].get<std::string>());
    if (json.contains("precision"))
      section_.weights = inference::find_weight_format(json["precision"].get<std::string>());
    if (json.contains("kv_precision")) section_.narrow_kv = json["kv_precision"] == "fp8";
    if (const auto found = json.find("parallelism"); found != json.end()) {
      section_.layout = layout(*found);
      section_.layout_stated = found->size() > (found->contains("replicas") ? 1u : 0u);
      set(section_.replicas, *found, "replicas");
    }
    if (const auto found = json.find("disaggregated"); found != json.end()) pools(*found);
    if (const auto found = json.find("limits"); found != json.end()) {
      set(section_.context, *found, "context");
      set(section_.max_sequences, *found, "max_sequences");
      set(section_.token_budget, *found, "token_budget");
    }
    set(section_.prefix_caching, json, "prefix_caching");
    if (json.contains("routing")) routing(json["routing"].get<std::string>());
    if (const auto found = json.find("speculation"); found != json.end()) {
      section_.draft_tokens = found->value("draft_tokens", 0);
      section_.acceptance = found->value("acceptance", 0.0);
    }
    load(json.value("load", ServingJson::object()));
    if (const auto found = json.find("slo"); found != json.end()) slo(*found);
    return std::move(section_);
  }

 private:
  template <class T>
  static void set(std::optional<T>& target, const ServingJson& json, const char* key) {
    if (const auto found = json.find(key); found != json.end()) target = found->get<T>();
  }

  void engine(const std::string& name) {
    const auto known = inference::engine_names(catalog_);
    if (std::find(known.begin(), known.end(), name) == known.end())
      faults_.add(Code::unknown_name, "/workload/engine",
                  fmt::format("the catalog has no engine profile `{}`", name),
                  suggest(name, known));
    section_.engine = name;
  }

  static inference::Layout layout(const ServingJson& json) {
    inference::Layout layout;
    layout.tp = json.value("tp", 1);
    layout.pp = json.value("pp", 1);
    layout.attention_dp = json.value("attention_dp", 1);
    layout.ep = json.value("ep", 1);
    layout.redundant_experts = json.value("redundant_experts", 0);
    layout.two_batch_overlap = json.value("two_batch_overlap", false);
    return layout;
  }

  void pools(const ServingJson& json) {
    if (document_.root()["workload"].contains("parallelism"))
      faults_.add(Code::layout_mismatch, "/workload/parallelism",
                  "`disaggregated` says the layouts of its workers itself",
                  "leave out `parallelism`");
    for (const char* pool : {"prefill", "decode"}) {
      const ServingJson one = json.value(pool, ServingJson::object());
      (std::string_view(pool) == "prefill" ? section_.prefill : section_.decode) =
          ServingWorkers{one.value("workers", 1), layout(one)};
    }
    section_.layer_wise = json.value("layer_wise", true);
  }

  void routing(const std::string& text) {
    for (const auto one : {inference::Routing::round_robin, inference::Routing::least_loaded,
                           inference::Routing::prefix_aware})
      if (inference::name(one) == text) section_.routing = one;
  }

  void load(const ServingJson& json) {
    inference::Load& load = section_.load;
    load.input = token_count(json, "input_tokens", default_input_tokens, "/workload/load", faults_);
    load.output =
        token_count(json, "output_tokens", default_output_tokens, "/workload/load", faults_);
    load.shared_tokens = json.value("shared_prefix_tokens", 0u);
    load.shared_texts = json.value("shared_prefixes", 1u);
    load.arrivals.cv = json.value("cv", 1.0);
    load.arrivals.concurrency = json.value("concurrency", 1u);
    load.seed = json.value("seed", std::uint64_t{1});
    set(section_.rate_per_s, json, "rate_per_s");
    set(section_.requests, json, "requests");
    arrivals(json);
    shape(json);
    if (load.shared_tokens > 0 || json.contains("samples") || json.contains("turns"))
      load.block_tokens = shared_block_tokens;
    if (json.contains("trace")) {
      const auto path =
          std::filesystem::path(document_.file()).parent_path() / json["trace"].get<std::string>();
      section_.trace = path.string();
    }
    section_.trace_speed = json.value("trace_speed", 1.0);
  }

  void arrivals(const ServingJson& json) {
    const bool closed = json.contains("concurrency");
    if (closed && json.contains("rate_per_s"))
      faults_.add(Code::value_out_of_range, "/workload/load/concurrency",
                  "a load has a rate or a concurrency, not both",
                  "`concurrency` is a closed loop, `rate_per_s` an open one");
    const std::string kind = json.value("arrivals", closed ? "closed_loop" : "poisson");
    if ((kind == "closed_loop") != closed)
      faults_.add(Code::value_out_of_range, "/workload/load",
                  closed ? fmt::format("`concurrency` goes with closed_loop, not with {}", kind)
                         : std::string("a closed loop needs `concurrency`"));
    section_.arrivals = kind == "closed_loop" ? Arrivals::Kind::closed_loop
                        : kind == "constant"  ? Arrivals::Kind::constant
                        : kind == "gamma"     ? Arrivals::Kind::gamma
                                              : Arrivals::Kind::poisson;
    section_.load.arrivals.kind = *section_.arrivals;
  }

  void shape(const ServingJson& json) {
    const auto samples = json.value("samples", 1u);
    const auto turns = json.value("turns", 1u);
    if (samples > 1 && turns > 1)
      faults_.add(Code::value_out_of_range, "/workload/load/samples",
                  "a load has several samples of a prompt or several turns, not both");
    if (samples > 1) section_.load.shape = inference::Samples{samples, false, 0.0};
    if (turns > 1) {
      inference::Sessions sessions;
      sessions.turns.mean = turns;
      sessions.new_tokens = section_.load.input;
      sessions.think_s = json.value("think_time_s", 0.0);
      section_.load.shape = sessions;
    }
  }

  void slo(const ServingJson& json) {
    inference::Slo limits;
    limits.share = json.value("share", limits.share);
    const auto time = [&](const char* key, double& target) {
      if (!json.contains(key)) return;
      const auto value = faults_.take(parse_duration(json[key].get<std::string>()),
                                      fmt::format("/workload/slo/{}", key));
      if (value && value->value() <= 0.0)
        faults_.add(Code::value_out_of_range, fmt::format("/workload/slo/{}", key),
                    "a limit is above 0");
      if (value) target = value->value();
    };
    time("ttft", limits.ttft_s);
    time("tpot", limits.tpot_s);
    time("e2e", limits.e2e_s);
    section_.slo = limits;
  }

  const catalog::Catalog& catalog_;
  const JsonDocument& document_;
  PlacedFaults& faults_;
  ServingSection section_;
};

}  // namespace

ServingSection read_serving(const catalog::Catalog& catalog, const JsonDocument& document,
                            PlacedFaults& faults) {
  return ServingReader(catalog, document, faults).read();
}

}  // namespace flowplan::scenario
