#include "run_serving.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "flowplan/operations/money.hpp"
#include "flowplan/topology/tier_name.hpp"
#include "places.hpp"
#include "serving_fleet.hpp"
#include "serving_links.hpp"
#include "serving_metrics.hpp"
#include "serving_pass.hpp"
#include "serving_start.hpp"
#include "trace.hpp"

namespace flowplan::scenario {

namespace {

constexpr const char* default_serving_region = "us-east-1";
/// Of what saturates the fleet: loaded, yet not at the edge where queues grow without end.
constexpr double default_utilisation = 0.8;
constexpr std::uint32_t requests_per_instance = 2000;
constexpr std::uint32_t most_default_requests = 20000;
/// Points of the curve of load against latency, as shares of the saturation rate.
constexpr std::array curve_shares{0.25, 0.5, 0.75, 0.9, 1.0};
/// Requests at each end of a run that its summary leaves out: the ramp and the drain.
constexpr double ramp_share = 0.1;

double longest_of(const inference::Workload& workload) {
  double longest = 1.0;
  for (const inference::Request& request : workload.requests)
    longest = std::max(longest, 1.0 * request.input_tokens + request.output_tokens);
  return longest;
}

inference::Summary summed(const inference::ServeRun& run, const inference::Workload& workload,
                          const std::optional<inference::Slo>& slo, std::int64_t interval,
                          bool closed_loop) {
  const auto skipped =
      static_cast<std::uint64_t>(ramp_share * static_cast<double>(run.requests.size()));
  // A closed loop has no rate that could ramp up: its burst at the start is part of it.
  const inference::Window window =
      closed_loop ? inference::Window{} : inference::steady_window(run, skipped, skipped);
  return inference::summarize(run, workload, window, slo.value_or(inference::Slo{}), interval);
}

/// Fills in one answer, part by part.
class ServingRunner {
 public:
  ServingRunner(const catalog::Catalog& catalog, const Scenario& scenario, Depth depth,
                Answer& answer)
      : catalog_(catalog),
        scenario_(scenario),
        section_(*scenario.serving),
        depth_(depth),
        answer_(answer),
        serving_(answer.serving.emplace()) {}

  Result<void> run() {
    serving_.slo = section_.slo;
    serving_.load = section_.load;
    if (auto read = first_workload(); !read) return read;
    const double longest = longest_of(workload_);
    auto choice = choose_serving(catalog_, *scenario_.cluster.instance, section_, longest);
    if (!choice) return fail(std::move(choice.error()));
    describe(*choice);
    if (!memory_fits(*choice, longest)) {
      take_notes(*choice);
      return {};
    }
    const bool shares = workload_.block_tokens > 0;
    auto fleet =
        build_serving(catalog_, section_, *choice, static_cast<int>(answer_.gpus), longest, shares);
    if (!fleet) return fail(std::move(fleet.error()));
    fleet_ = std::move(*fleet);
    take_notes(*choice);
    serving_.gpus = fleet_.gpus;
    serving_.replicas =
        static_cast<int>(fleet_.pools ? fleet_.pools->decode.replicas : fleet_.fleet.replicas);
    floors();
    if (!limits_possible()) return {};
    if (auto set = settle_load(); !set) return set;
    auto done = simulate(workload_);
    if (!done) return fail(std::move(done.error()));
    sum_up(*done);
    if (auto drawn = curve(); !drawn) return drawn;
    answer_.estimate.time = pass_breakdown(catalog_, fleet_, serving_);
    if (depth_ != Depth::full) return {};
    auto links = serving_links(catalog_, fleet_, serving_, workload_, answer_.estimate.time.time(),
                               answer_.nic_kind);
    if (!links) return fail(std::move(links.error()));
    answer_.links = std::move(*links);
    return {};
  }

 private:
  [[nodiscard]] bool closed_loop() const {
    return section_.load.arrivals.kind == inference::Arrivals::Kind::closed_loop;
  }

  /// The trace, or the load at any rate: lengths do not depend on it.
  Result<void> first_workload() {
    if (section_.trace) {
      inference::TraceOptions options;
      options.speed = section_.trace_speed;
      if (section_.requests) options.most_requests = *section_.requests;
      auto trace = inference::read_trace(*section_.trace, options);
      if (!trace) return fail(std::move(trace.error()));
      serving_.trace = *section_.trace;
      workload_ = std::move(*trace);
      serving_.requests = workload_.requests.size();
      return {};
    }
    serving_.load.tasks = section_.requests.value_or(requests_per_instance);
    serving_.load.arrivals.rate = {{0.0, section_.rate_per_s.value_or(1.0)}};
    return make_workload();
  }

  Result<void> make_workload() {
    auto made = inference::generate(serving_.load);
    if (!made) return fail(at_load(std::move(made.error())));
    workload_ = std::move(*made);
    serving_.requests = workload_.requests.size();
    return {};
  }

  static Diagnostics at_load(Diagnostics faults) {
    for (Diagnostic& fault : faults)
      if (fault.place.pointer.empty()) fault.place.pointer = "/workload/load";
    return faults;
  }

  void describe(const ServingChoice& choice) {
    serving_.model = section_.model;
    serving_.engine = choice.engine;
    serving_.formats = choice.setup.formats;
    serving_.layout = choice.setup.layout;
    serving_.prefill = section_.prefill;
    answer_.estimate.band.low = 1.0 / (1.0 + choice.setup.engine.band_p90 / 100.0);
    answer_.estimate.band.high = 1.0 + choice.setup.engine.band_p90 / 100.0;
    answer_.estimate.band.regime = choice.setup.engine.band_regime;
    answer_.estimate.provenance.profiles.push_back(choice.setup.engine.id);
    interval_ = choice.setup.engine.stream_interval_tokens;
  }

  void take_notes(const ServingChoice& choice) {
    auto& defaulted = answer_.estimate.defaulted;
    defaulted.insert(defaulted.end(), choice.defaulted.begin(), choice.defaulted.end());
    for (const Diagnostic& one : choice.notes)
      answer_.estimate.warnings.push_back({"serving_layout", one.message});
  }

  bool memory_fits(const ServingChoice& choice, double longest) {
    const auto fits = [&](const inference::StepSetup& setup) {
      serving_.memory = inference::serving_memory(*setup.instance, section_.model, setup.layout,
                                                  setup.formats, setup.engine, {1.0, longest});
      if (serving_.memory.fits) return true;
      constexpr double gb = 1e9;
      serving_.binding = "memory";
      serving_.does_not_fit = fmt::format(
          "{:.1f} GB of weights and {:.1f} GB beside them leave {:.1f} of {:.1f} GB for the KV "
          "cache, and a sequence of {:.0f} tokens needs {:.1f} GB",
          serving_.memory.weights.total().value() / gb, serving_.memory.other.value() / gb,
          serving_.memory.kv_room.value() / gb, serving_.memory.allowed.value() / gb, longest,
          serving_.memory.kv_needed.value() / gb);
      if (!serving_.memory.remedies.empty())
        answer_.least_change = serving_.memory.remedies.front().change;
      return false;
    };
    if (choice.prefill && !fits(*choice.prefill)) return false;
    return fits(choice.setup);
  }

  /// What a request of mean lengths takes alone.
  void floors() {
    double input = 0.0, output = 0.0;
    for (const inference::Request& request : workload_.requests) {
      input += request.input_tokens;
      output += request.output_tokens;
    }
    const auto count = static_cast<double>(std::max<std::size_t>(1, workload_.requests.size()));
    const inference::Instance& decode =
        fleet_.pools ? fleet_.pools->decode.instance : fleet_.fleet.instance;
    const inference::Instance& prefill =
        fleet_.pools ? fleet_.pools->prefill.instance : fleet_.fleet.instance;
    serving_.ttft_floor = lone_ttft(prefill, input / count);
    serving_.tpot_floor = lone_tpot(decode, (input + output / 2.0) / count);
  }

  bool limits_possible() {
    if (!serving_.slo) return true;
    const auto below = [&](const char* what, double limit, Seconds floor) {
      if (limit >= floor.value()) return false;
      serving_.binding = "slo";
      serving_.does_not_fit = fmt::format(
          "the limit of {:.4g} ms for {} is below the {:.4g} ms that one request alone "
          "takes on this fleet",
          limit * 1e3, what, floor.value() * 1e3);
      return true;
    };
    return !below("TPOT", serving_.slo->tpot_s, serving_.tpot_floor) &&
           !below("TTFT", serving_.slo->ttft_s, serving_.ttft_floor);
  }

  /// Number of tasks and rate, where the scenario leaves them open.
  Result<void> settle_load() {
    if (section_.trace) return {};
    const auto instances = static_cast<std::uint32_t>(serving_.replicas);
    if (!section_.requests) {
      serving_.load.tasks =
          std::max(std::min(requests_per_instance * instances, most_default_requests),
                   closed_loop() ? 4 * section_.load.arrivals.concurrency : 0u);
      note("workload.load.requests", fmt::format("{}", serving_.load.tasks),
           "enough for steady percentiles");
    }
    if (!closed_loop()) {
      if (!fleet_.pools) {
        const auto rate = inference::saturation_rate(fleet_.fleet, serving_.load);
        if (!rate) return fail(at_load(rate.error()));
        serving_.saturation_per_s = *rate;
      }
      if (!section_.rate_per_s && !serving_.saturation_per_s) {
        Diagnostic fault = error(Code::missing_key, "the load needs a rate",
                                 "`rate_per_s` or `concurrency`: what saturates a disaggregated "
                                 "deployment is not looked for");
        fault.place.pointer = "/workload/load";
        return fail(std::move(fault));
      }
      if (!section_.rate_per_s) {
        const double rate = default_utilisation * *serving_.saturation_per_s;
        serving_.load.arrivals.rate = {{0.0, rate}};
        note("workload.load.rate_per_s", fmt::format("{:.4g}", rate),
             "80 % of what saturates the fleet");
      }
    }
    return make_workload();
  }

  void note(std::string path, std::string value, std::string reason) {
    answer_.estimate.defaulted.push_back({std::move(path), std::move(value), std::move(reason)});
  }

  [[nodiscard]] Result<inference::ServeRun> simulate(const inference::Workload& workload) const {
    return fleet_.pools ? inference::serve(*fleet_.pools, workload)
                        : inference::serve(fleet_.fleet, workload);
  }

  void sum_up(const inference::ServeRun& run) {
    serving_.summary = summed(run, workload_, serving_.slo, interval_, closed_loop());
    for (std::size_t pool = 0; pool < run.pools.size(); ++pool) {
      const bool decode = pool + 1 == run.pools.size();
      const std::uint32_t replicas = !fleet_.pools ? fleet_.fleet.replicas
                                     : decode      ? fleet_.pools->decode.replicas
                                                   : fleet_.pools->prefill.replicas;
      serving_.pools.push_back(inference::summarize_pool(run, pool, replicas));
    }
    const Diagnostics beyond = inference::beyond_context(
        workload_, section_.context.value_or(section_.model.context > 0
                                                 ? section_.model.context
                                                 : std::numeric_limits<std::int64_t>::max()));
    for (const Diagnostic& one : beyond)
      answer_.estimate.warnings.push_back({"beyond_context", one.message});
  }

  /// Latencies at other rates of the same requests.
  Result<void> curve() {
    if (!serving_.saturation_per_s || depth_ != Depth::full) return {};
    inference::Load load = serving_.load;
    for (const double share : curve_shares) {
      const double rate = share * *serving_.saturation_per_s;
      load.arrivals.rate = {{0.0, rate}};
      const auto workload = inference::generate(load);
      if (!workload) return fail(at_load(workload.error()));
      const auto done = simulate(*workload);
      if (!done) return fail(done.error());
      serving_.curve.push_back({rate, summed(*done, *workload, serving_.slo, interval_, false)});
    }
    return {};
  }

  const catalog::Catalog& catalog_;
  const Scenario& scenario_;
  const ServingSection& section_;
  Depth depth_;
  Answer& answer_;
  ServingAnswer& serving_;
  inference::Workload workload_;
  ServingFleet fleet_;
  std::int64_t interval_ = 1;
};

void add_serving_money(const catalog::Catalog& catalog, const Scenario& scenario, Answer& answer) {
  answer.costs = operations::costs(catalog, *scenario.cluster.instance, answer.count, answer.region,
                                   std::nullopt);
  const std::string wanted = scenario.cluster.purchase.value_or("");
  const operations::PurchaseCost* chosen = nullptr;
  for (const std::string& purchase : wanted.empty()
                                         ? std::vector<std::string>{"on_demand", "capacity_block"}
                                         : std::vector<std::string>{wanted})
    for (const operations::PurchaseCost& cost : answer.costs)
      if (chosen == nullptr && cost.purchase == purchase) chosen = &cost;
  if (chosen == nullptr) return;
  answer.purchase = chosen->purchase;
  constexpr double seconds_per_hour = 3600.0, million = 1e6;
  const double tokens = answer.serving->summary.output_tokens_per_s;
  if (tokens > 0.0)
    answer.serving->per_million_output_tokens =
        chosen->per_hour * (million / (tokens * seconds_per_hour));
}

}  // namespace

Result<Answer> run_serving(const catalog::Catalog& catalog, const Scenario& scenario,
                           const std::string& program_version, Depth depth) {
  const catalog::Instance& instance = *scenario.cluster.instance;
  topology::ClusterSpec spec;
  spec.instance = &instance;
  spec.count = scenario.cluster.count;
  spec.fabric = scenario.cluster.fabric;
  const auto cluster = topology::Cluster::build(catalog, spec);
  if (!cluster) return fail(placed(cluster.error(), scenario.document, "/cluster"));

  Answer answer;
  answer.about = scenario.about;
  answer.kind = "serving";
  answer.instance = instance.id;
  answer.nic_kind = topology::nic_kind(instance);
  answer.gpu = instance.gpu;
  answer.count = scenario.cluster.count;
  answer.ec2_instances = instance.instances * answer.count;
  answer.gpus = cluster->gpus();
  answer.region = scenario.cluster.region.value_or(default_serving_region);
  answer.network = topology::summarise(*cluster);
  answer.parameters = model::count_parameters(scenario.serving->model).total;
  answer.name = scenario.name.empty()
                    ? fmt::format("{} served on {} x {}", scenario.serving->model.name,
                                  answer.count, answer.instance)
                    : scenario.name;
  if (!scenario.cluster.region)
    answer.estimate.defaulted.push_back(
        {"cluster.region", answer.region, "where prices are listed"});
  if (auto done = ServingRunner(catalog, scenario, depth, answer).run(); !done)
    return fail(placed(std::move(done.error()), scenario.document));
  if (answer.feasible()) {
    add_serving_money(catalog, scenario, answer);
    if (auto started = add_serving_start(catalog, scenario, *cluster, answer); !started)
      return fail(std::move(started.error()));
  }
  add_serving_metrics(answer);
  add_serving_trace(catalog, scenario, program_version, answer);
  return answer;
}

}  // namespace flowplan::scenario
