#include "flowplan/inference/metrics.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "flowplan/base/assert.hpp"

namespace flowplan::inference {

namespace {

bool was_admitted(Outcome outcome) {
  return outcome == Outcome::waiting || outcome == Outcome::running || outcome == Outcome::finished;
}

/// The least value that a share `p` of all do not exceed (nearest rank).
double nearest_rank(std::vector<double>& values, double p) {
  const double rank = std::ceil(p * static_cast<double>(values.size()));
  const auto n = static_cast<std::ptrdiff_t>(std::max(rank, 1.0)) - 1;
  std::nth_element(values.begin(), values.begin() + n, values.end());
  return values[static_cast<std::size_t>(n)];
}

Spread spread_of(std::vector<double>& values) {
  Spread spread;
  spread.count = values.size();
  if (values.empty()) return spread;
  double sum = 0.0;
  for (const double value : values)
    sum += value;
  spread.mean = sum / static_cast<double>(values.size());
  spread.most = *std::max_element(values.begin(), values.end());
  spread.p50 = nearest_rank(values, 0.50);
  spread.p90 = nearest_rank(values, 0.90);
  spread.p99 = nearest_rank(values, 0.99);
  return spread;
}

Spread spread_of(const GapHistogram& gaps) {
  Spread spread;
  spread.count = static_cast<std::uint64_t>(gaps.count());
  spread.mean = gaps.mean();
  spread.p50 = gaps.percentile(0.50);
  spread.p90 = gaps.percentile(0.90);
  spread.p99 = gaps.percentile(0.99);
  spread.most = gaps.percentile(1.0);
  return spread;
}

double overlap(double from, double to, const Window& window) {
  return std::max(0.0, std::min(to, window.to_s) - std::max(from, window.from_s));
}

/// What a client sees of one request.
struct SeenRequest {
  double ttft_s, e2e_s;
  double tpot_s = -1.0;  // unfinished, or of one token
};

SeenRequest as_seen(const ServeRun& run, const Request& request, RequestId id,
                    std::int64_t stream_interval) {
  const RequestRecords& r = run.requests;
  const double sent_s = r.sent_s[id];
  const double so_far_s = run.end_s - sent_s;
  const bool begun = r.first_token_s[id] >= 0.0, ended = r.outcome[id] == Outcome::finished;
  SeenRequest seen{begun ? r.first_token_s[id] - sent_s : so_far_s,
                   ended ? r.finish_s[id] - sent_s : so_far_s};
  const std::int64_t gaps = std::int64_t{request.output_tokens} - 1;
  if (!ended || gaps == 0) return seen;
  const double pace_s = (seen.e2e_s - seen.ttft_s) / static_cast<double>(gaps);
  seen.ttft_s += pace_s * static_cast<double>(std::min(stream_interval - 1, gaps));
  seen.tpot_s = (seen.e2e_s - seen.ttft_s) / static_cast<double>(gaps);
  return seen;
}

/// Tokens of a request that come in the window, evenly between the first and the last.
double tokens_within(const ServeRun& run, RequestId id, const Window& window) {
  const RequestRecords& r = run.requests;
  if (r.first_token_s[id] < 0.0 || r.generated[id] == 0) return 0.0;
  const double first_s = r.first_token_s[id];
  const double last_s = r.outcome[id] == Outcome::finished ? r.finish_s[id] : run.end_s;
  double tokens = first_s >= window.from_s && first_s <= window.to_s ? 1.0 : 0.0;
  if (last_s > first_s)
    tokens += (r.generated[id] - 1.0) * overlap(first_s, last_s, window) / (last_s - first_s);
  return tokens;
}

/// Latencies of the requests that count, and those of their tasks.
struct Latencies {
  std::vector<double> ttft_s, tpot_s, e2e_s;
};

void count_request(const ServeRun& run, const Workload& workload, RequestId id, const Slo& slo,
                   std::int64_t stream_interval, Summary& summary, Latencies& latencies) {
  ++summary.sent;
  const Outcome outcome = run.requests.outcome[id];
  summary.refused_context += outcome == Outcome::refused_context;
  summary.refused_memory += outcome == Outcome::refused_memory;
  if (!was_admitted(outcome)) return;
  const SeenRequest seen = as_seen(run, workload.requests[id], id, stream_interval);
  latencies.ttft_s.push_back(seen.ttft_s);
  latencies.e2e_s.push_back(seen.e2e_s);
  if (seen.tpot_s >= 0.0) latencies.tpot_s.push_back(seen.tpot_s);
  summary.preemptions += run.requests.preemptions[id];
  if (outcome != Outcome::finished) {
    ++summary.unfinished;
    summary.without_first_token += run.requests.first_token_s[id] < 0.0;
    return;
  }
  ++summary.finished;
  const bool good =
      seen.ttft_s <= slo.ttft_s && seen.tpot_s <= slo.tpot_s && seen.e2e_s <= slo.e2e_s;
  summary.good_share += good;  // a count until the end
}

Spread task_spread(const ServeRun& run, const Workload& workload, const Window& window) {
  if (workload.task.empty()) return {};
  const RequestRecords& r = run.requests;
  std::vector<double> end_s(workload.tasks(), 0.0);
  for (RequestId id = 0; id < r.size(); ++id) {
    double& end = end_s[workload.task[id]];
    // A request not yet sent, refused or unfinished: the task lasts at least till now.
    const bool finished = r.outcome[id] == Outcome::finished;
    end = std::max(end, finished ? r.finish_s[id] : run.end_s);
  }
  std::vector<double> lasted_s;
  for (std::size_t task = 0; task < workload.tasks(); ++task) {
    const RequestId root = workload.root(task);
    const double sent_s = r.sent_s[root];
    if (sent_s < window.from_s || sent_s >= window.to_s || !was_admitted(r.outcome[root])) continue;
    lasted_s.push_back(end_s[task] - sent_s);
  }
  return spread_of(lasted_s);
}

}  // namespace

Summary summarize(const ServeRun& run, const Workload& workload, const Window& window,
                  const Slo& slo, std::int64_t stream_interval) {
  Summary summary;
  summary.window = {window.from_s, std::min(window.to_s, run.end_s)};
  const Window& cut = summary.window;
  const double length_s = std::max(0.0, cut.to_s - cut.from_s);
  const RequestRecords& r = run.requests;
  Latencies latencies;
  double output = 0.0, prompts = 0.0, all_prompts = 0.0, cached = 0.0, in_system_s = 0.0;
  double ended = 0.0, good_ended = 0.0;
  std::int64_t in_at_begin = 0, in_at_end = 0;
  for (RequestId id = 0; id < r.size(); ++id) {
    const double sent_s = r.sent_s[id];
    if (sent_s < 0.0) continue;
    const bool admitted = was_admitted(r.outcome[id]);
    const double end_s = r.outcome[id] == Outcome::finished ? r.finish_s[id] : run.end_s;
    if (admitted) {
      output += tokens_within(run, id, cut);
      in_system_s += overlap(sent_s, end_s, cut);
      in_at_begin += sent_s < cut.from_s && end_s > cut.from_s;
      in_at_end += sent_s < cut.to_s && (end_s > cut.to_s || r.outcome[id] != Outcome::finished);
    }
    if (r.outcome[id] == Outcome::finished && end_s >= cut.from_s && end_s <= cut.to_s) {
      ++ended;
      prompts += workload.requests[id].input_tokens;
      const SeenRequest seen = as_seen(run, workload.requests[id], id, stream_interval);
      good_ended +=
          seen.ttft_s <= slo.ttft_s && seen.tpot_s <= slo.tpot_s && seen.e2e_s <= slo.e2e_s;
    }
    if (sent_s < window.from_s || sent_s >= window.to_s) continue;
    count_request(run, workload, id, slo, stream_interval, summary, latencies);
    if (!admitted) continue;
    all_prompts += workload.requests[id].input_tokens;
    cached += r.cached_tokens[id];
  }
  summary.ttft_s = spread_of(latencies.ttft_s);
  summary.tpot_s = spread_of(latencies.tpot_s);
  summary.e2e_s = spread_of(latencies.e2e_s);
  summary.itl_s = spread_of(run.gaps);
  summary.task_s = task_spread(run, workload, window);
  if (summary.sent > 0) summary.good_share /= static_cast<double>(summary.sent);
  summary.meets = summary.sent > 0 && summary.good_share >= slo.share;
  if (all_prompts > 0.0) summary.cached_share = cached / all_prompts;
  if (summary.tpot_s.mean > 0.0) summary.output_tokens_per_s_per_user = 1.0 / summary.tpot_s.mean;
  if (length_s > 0.0) {
    summary.requests_per_s = ended / length_s;
    summary.good_requests_per_s = good_ended / length_s;
    summary.output_tokens_per_s = output / length_s;
    summary.total_tokens_per_s = (output + prompts) / length_s;
    summary.output_tokens_per_s_per_gpu = summary.output_tokens_per_s / run.gpus;
    summary.mean_in_system = in_system_s / length_s;
    summary.queue_growth_per_s = static_cast<double>(in_at_end - in_at_begin) / length_s;
  }
  return summary;
}

PoolSummary summarize_pool(const ServeRun& run, std::size_t pool, std::uint32_t replicas) {
  const PoolTotals& totals = run.pools[pool];
  PoolSummary summary;
  if (totals.busy_s <= 0.0) return summary;
  const double capacity = static_cast<double>(totals.kv_capacity_blocks);
  summary.mean_batch = totals.batch.integral() / totals.busy_s;
  summary.mean_kv_share = totals.kv_blocks.integral() / totals.busy_s / capacity;
  summary.peak_kv_share = static_cast<double>(totals.peak_kv_blocks) / capacity;
  summary.busy_share = totals.busy_s / (run.end_s * replicas);
  summary.mean_pass_s = totals.busy_s / static_cast<double>(totals.passes);
  return summary;
}

Window steady_window(const ServeRun& run, std::uint64_t skip_first, std::uint64_t skip_last) {
  std::vector<double> sent_s;
  for (const double at_s : run.requests.sent_s)
    if (at_s >= 0.0) sent_s.push_back(at_s);
  std::sort(sent_s.begin(), sent_s.end());
  if (skip_first + skip_last >= sent_s.size()) return {run.end_s, run.end_s};
  const std::size_t last = sent_s.size() - 1 - skip_last;
  return {sent_s[skip_first], skip_last == 0 ? run.end_s : sent_s[last + 1]};
}

Result<double> saturation_rate(const Fleet& fleet, Load load) {
  load.arrivals = {};
  load.arrivals.kind = Arrivals::Kind::closed_loop;
  load.arrivals.concurrency = load.tasks;
  const Result<Workload> workload = generate(load);
  if (!workload) return fail(workload.error());
  const Result<ServeRun> run = serve(fleet, *workload);
  if (!run) return fail(run.error());
  std::vector<double> ends_s;
  for (const double at_s : run->requests.finish_s)
    if (at_s >= 0.0) ends_s.push_back(at_s);
  if (ends_s.size() < 2) return 0.0;
  std::sort(ends_s.begin(), ends_s.end());
  const std::size_t first = ends_s.size() / 10, last = ends_s.size() - 1 - first;
  const double length_s = ends_s[last] - ends_s[first];
  if (length_s <= 0.0) return static_cast<double>(ends_s.size()) / run->end_s;
  return static_cast<double>(last - first) / length_s;
}

Result<CapacityPoint> highest_rate(const Fleet& fleet, Load load, const Slo& slo,
                                   double tolerance) {
  const Result<double> most = saturation_rate(fleet, load);
  if (!most) return fail(most.error());
  if (load.arrivals.kind == Arrivals::Kind::closed_loop)
    load.arrivals.kind = Arrivals::Kind::poisson;
  const auto at = [&](double per_s) -> Result<CapacityPoint> {
    load.arrivals.rate = {{0.0, per_s}};
    const Result<Workload> workload = generate(load);
    if (!workload) return fail(workload.error());
    const Result<ServeRun> run = serve(fleet, *workload);
    if (!run) return fail(run.error());
    const std::uint64_t tenth = workload->requests.size() / 10;
    return CapacityPoint{per_s, summarize(*run, *workload, steady_window(*run, tenth, tenth), slo)};
  };
  constexpr double least_share = 0.01;  // of the saturation rate
  double low = least_share * *most, high = *most;
  Result<CapacityPoint> best = at(low);
  if (!best) return best;
  if (!best->summary.meets) return CapacityPoint{0.0, best->summary};
  while (high - low > tolerance * *most) {
    const double middle = (low + high) / 2.0;
    Result<CapacityPoint> point = at(middle);
    if (!point) return point;
    if (point->summary.meets) {
      low = middle;
      best = std::move(point);
    } else {
      high = middle;
    }
  }
  return best;
}

}  // namespace flowplan::inference
