#include "flowplan/inference/pass_traffic.hpp"

#include <algorithm>
#include <optional>

#include "flowplan/collective/collective.hpp"
#include "flowplan/collective/custom_all_reduce.hpp"
#include "step_collectives.hpp"
#include "step_shapes.hpp"

namespace flowplan::inference {

namespace {

constexpr double sent_element_bytes = 2.0;  // bf16

/// Adds up what the GPUs of one instance send, operation by operation.
class TrafficSum {
 public:
  TrafficSum(const catalog::Catalog& catalog, const topology::Cluster& cluster,
             const StepSetup& setup)
      : catalog_(catalog), cluster_(cluster), setup_(setup) {}

  /// `times` all-reduces by every GPU of groups of `ranks`, `bytes` each.
  Result<void> all_reduces(int ranks, Bytes bytes, double times) {
    const collective::Group group = collective::contiguous_group(static_cast<std::uint32_t>(ranks));
    const double n = ranks;
    if (static_cast<std::uint32_t>(ranks) <= cluster_.gpus_per_domain()) {
      const auto own = collective::custom_all_reduce(catalog_, cluster_, group, bytes);
      if (!own) return fail(own.error());
      if (own->stage == collective::AllReduceStage::one_shot) {
        sum_.nvlink += bytes * ((n - 1.0) * times);
        return {};
      }
      if (own->stage == collective::AllReduceStage::two_shot) {
        sum_.nvlink += bytes * (2.0 * (n - 1.0) / n * times);
        return {};
      }
    }
    return add(collective::Operation::all_reduce, group, bytes, times / n);
  }

  /// A send from each GPU of a stage to the next stage's.
  Result<void> stages(Bytes message) {
    const Layout& layout = setup_.layout;
    const auto next = static_cast<std::uint32_t>(layout.ranks());
    constexpr double both_ways = 2.0;  // two GPUs swap messages, as nccl-tests' sendrecv does
    return add(collective::Operation::send_recv, {topology::GpuId{0}, topology::GpuId{next}},
               message, (layout.pp - 1.0) / layout.pp / both_ways);
  }

  void exchange(const ExchangeTraffic& sent, double times) {
    sum_.nvlink += sent.nvlink * times;
    sum_.network += sent.network * times;
  }

  [[nodiscard]] const PassTraffic& sum() const { return sum_; }

 private:
  /// `gpus` of the instance do the operation at a time: each counts `share` of its bytes. A tier
  /// counts both directions of its links.
  Result<void> add(collective::Operation operation, const collective::Group& group, Bytes bytes,
                   double share) {
    collective::Request request;
    request.operation = operation;
    request.size = bytes;
    request.groups = {group};
    const auto outcome = collective::predict(catalog_, cluster_, request);
    if (!outcome) return fail(outcome.error());
    constexpr double directions = 2.0;
    for (const auto& [tier, carried] : outcome->carried) {
      if (tier == topology::Tier::nvlink) sum_.nvlink += carried * (share / directions);
      if (tier == topology::Tier::efa) sum_.network += carried * (share / directions);
    }
    return {};
  }

  const catalog::Catalog& catalog_;
  const topology::Cluster& cluster_;
  const StepSetup& setup_;
  PassTraffic sum_;
};

}  // namespace

Result<PassTraffic> pass_traffic(const catalog::Catalog& catalog, const StepSetup& setup,
                                 double tokens, double sequences) {
  const Layout& layout = setup.layout;
  if (layout.gpus() == 1) return PassTraffic{};
  const auto cluster = instance_cluster(catalog, *setup.instance, layout);
  if (!cluster) return fail(cluster.error());
  const model::Transformer& model = *setup.model;
  TrafficSum sum(catalog, *cluster, setup);
  const double hidden = real_of(model.hidden);
  if (layout.tp > 1) {
    const double operations = all_reduces_of_pass(model, layout) / layout.pp;
    if (auto done =
            sum.all_reduces(layout.tp, Bytes(tokens * hidden * sent_element_bytes), operations);
        !done)
      return fail(done.error());
    // The gather of logits moves half of what an all-reduce of them would.
    const Bytes logits(sequences * real_of(model.vocab) * sent_element_bytes / 2.0);
    if (auto done = sum.all_reduces(layout.tp, logits, 1.0 / layout.pp); !done)
      return fail(done.error());
  }
  if (layout.pp > 1) {
    const Bytes message(tokens * hidden * sent_element_bytes / layout.tp);
    if (auto done = sum.stages(message); !done) return fail(done.error());
  }
  if (layout.attention_dp > 1 && model.experts) {
    const auto step = StepModel::on(catalog, setup);
    if (!step) return fail(step.error());
    const double all_tokens = tokens * layout.attention_dp;
    const double exchanges = real_of(model.moe_layers()) / layout.pp;
    const auto sent = step->exchange_traffic(catalog, all_tokens);
    if (!sent) return fail(sent.error());
    if (*sent) {
      sum.exchange(**sent, exchanges);
    } else if (auto done = sum.all_reduces(
                   layout.ranks(), Bytes(all_tokens * hidden * sent_element_bytes), exchanges);
               !done) {
      return fail(done.error());
    }
  }
  return sum.sum();
}

}  // namespace flowplan::inference
