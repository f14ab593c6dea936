#include "step_collectives.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "flowplan/collective/collective.hpp"
#include "flowplan/collective/custom_all_reduce.hpp"

namespace flowplan::inference {

namespace {

constexpr double smallest_message = 1024.0, largest_message = 4.0 * 1024 * 1024 * 1024;
constexpr double fp8_scaled_bytes = 1.03125;  // an fp32 scale for 128 elements
/// Batches up to this many tokens of a rank take the kernels of low latency.
constexpr double low_latency_tokens = 512.0;

/// `time` at sizes a factor of two apart.
Result<SizeCurve> sampled(double from, double to,
                          const std::function<Result<Seconds>(double)>& time) {
  std::vector<double> at, seconds;
  for (double x = from; x <= to; x *= 2.0) {
    const auto t = time(x);
    if (!t) return fail(t.error());
    at.push_back(x);
    seconds.push_back(t->value());
  }
  return SizeCurve(std::move(at), std::move(seconds));
}

Result<Seconds> nccl_time(const catalog::Catalog& catalog, const topology::Cluster& cluster,
                          collective::Operation operation, const collective::Group& group,
                          double bytes) {
  collective::Request request;
  request.operation = operation;
  request.size = Bytes(bytes);
  request.groups = {group};
  const auto done = collective::predict(catalog, cluster, request);
  if (!done) return fail(done.error());
  return done->time;
}

/// Inside an NVLink domain by the engines' own kernels or NCCL, the faster; across by NCCL.
Result<SizeCurve> all_reduce_curve(const catalog::Catalog& catalog,
                                   const topology::Cluster& cluster, int ranks) {
  const collective::Group group = collective::contiguous_group(static_cast<std::uint32_t>(ranks));
  const bool inside = static_cast<std::uint32_t>(ranks) <= cluster.gpus_per_domain();
  return sampled(smallest_message, largest_message, [&](double bytes) -> Result<Seconds> {
    if (inside) {
      const auto own = collective::custom_all_reduce(catalog, cluster, group, Bytes(bytes));
      if (!own) return fail(own.error());
      return own->time;
    }
    return nccl_time(catalog, cluster, collective::Operation::all_reduce, group, bytes);
  });
}

/// Between the first ranks of two neighbouring stages.
Result<SizeCurve> send_curve(const catalog::Catalog& catalog, const topology::Cluster& cluster,
                             int ranks_of_stage) {
  const auto next = static_cast<std::uint32_t>(ranks_of_stage);
  const collective::Group pair{topology::GpuId{0}, topology::GpuId{next}};
  return sampled(smallest_message, largest_message, [&](double bytes) -> Result<Seconds> {
    return nccl_time(catalog, cluster, collective::Operation::send_recv, pair, bytes);
  });
}

Result<SizeCurve> exchange_curve(const catalog::Catalog& catalog, const catalog::Instance& instance,
                                 const model::Transformer& model, const Layout& layout) {
  constexpr double least_tokens = 1.0, most_tokens = 16384.0;
  return sampled(least_tokens, most_tokens, [&](double tokens) -> Result<Seconds> {
    const auto done = network_exchange(catalog, instance, model, layout, tokens);
    if (!done) return fail(done.error());
    return done->dispatch.time + done->combine.time;
  });
}

}  // namespace

SizeCurve::SizeCurve(std::vector<double> bytes, std::vector<double> seconds)
    : log_bytes_(std::move(bytes)), log_seconds_(std::move(seconds)) {
  for (double& x : log_bytes_)
    x = std::log(x);
  for (double& t : log_seconds_)
    t = std::log(t);
}

Seconds SizeCurve::operator()(Bytes size) const {
  if (log_bytes_.empty() || size.value() <= 0.0) return Seconds(0.0);
  const double x = std::log(size.value());
  if (x <= log_bytes_.front() || log_bytes_.size() == 1) return Seconds(std::exp(log_seconds_[0]));
  const auto above = std::lower_bound(log_bytes_.begin(), log_bytes_.end() - 1, x);
  const auto i = static_cast<std::size_t>(above - log_bytes_.begin());
  const double share = (x - log_bytes_[i - 1]) / (log_bytes_[i] - log_bytes_[i - 1]);
  return Seconds(std::exp(log_seconds_[i - 1] + share * (log_seconds_[i] - log_seconds_[i - 1])));
}

double all_reduces_of_pass(const model::Transformer& model, const Layout& layout) {
  const std::int64_t after_mlp = layout.attention_dp > 1 ? model.dense_layers() : model.layers;
  return static_cast<double>(model.layers + after_mlp);
}

Result<topology::Cluster> instance_cluster(const catalog::Catalog& catalog,
                                           const catalog::Instance& instance,
                                           const Layout& layout) {
  topology::ClusterSpec spec;
  spec.instance = &instance;
  spec.count = (layout.gpus() + instance.gpus - 1) / instance.gpus;
  return topology::Cluster::build(catalog, spec);
}

Result<collective::ExpertOutcome> network_exchange(const catalog::Catalog& catalog,
                                                   const catalog::Instance& instance,
                                                   const model::Transformer& model,
                                                   const Layout& layout, double tokens) {
  const int domain = instance.nvlink_domain_gpus;
  const int nodes = (layout.ranks() + domain - 1) / domain;
  const auto group =
      collective::expert_group(catalog, instance, nodes, std::min(domain, layout.ranks()));
  collective::ExpertTraffic traffic;
  traffic.tokens = tokens;
  traffic.hidden = static_cast<double>(model.hidden);
  traffic.top_k = static_cast<int>(model.experts->per_token);
  traffic.experts = static_cast<int>(model.experts->count);
  traffic.dispatch_bytes = fp8_scaled_bytes;
  const auto mode = tokens <= low_latency_tokens ? collective::ExpertMode::low_latency
                                                 : collective::ExpertMode::normal;
  return collective::expert_parallel(catalog, collective::ExpertBackend::deepep, mode, group,
                                     traffic);
}

Result<StepCollectives> step_collectives(const catalog::Catalog& catalog,
                                         const catalog::Instance& instance,
                                         const model::Transformer& model, const Layout& layout) {
  StepCollectives result;
  const catalog::Gpu& gpu = catalog.gpu_of(instance);
  if (gpu.nvlink_gbytes_per_s) result.nvlink = gigabytes_per_second(gpu.nvlink_gbytes_per_s.value);
  if (layout.gpus() == 1) return result;
  const auto cluster = instance_cluster(catalog, instance, layout);
  if (!cluster) return fail(cluster.error());
  const auto take = [](Result<SizeCurve> curve, SizeCurve& into) -> Result<void> {
    if (!curve) return fail(curve.error());
    into = std::move(*curve);
    return {};
  };
  if (layout.tp > 1) {
    const auto done = take(all_reduce_curve(catalog, *cluster, layout.tp), result.all_reduce);
    if (!done) return fail(done.error());
  }
  if (layout.pp > 1) {
    const auto done = take(send_curve(catalog, *cluster, layout.ranks()), result.send);
    if (!done) return fail(done.error());
  }
  if (layout.attention_dp > 1) {
    const bool inside = layout.ranks() <= instance.nvlink_domain_gpus;
    const auto done =
        inside ? take(all_reduce_curve(catalog, *cluster, layout.ranks()), result.stage_all_reduce)
               : take(exchange_curve(catalog, instance, model, layout), result.network_exchange);
    if (!done) return fail(done.error());
  }
  return result;
}

}  // namespace flowplan::inference
