#pragma once

#include <cstdint>
#include <vector>

#include "flowplan/base/quantity.hpp"
#include "flowplan/base/result.hpp"
#include "flowplan/catalog/catalog.hpp"
#include "flowplan/collective/expert_parallel.hpp"
#include "flowplan/inference/engine_profile.hpp"
#include "flowplan/inference/layout.hpp"
#include "flowplan/model/transformer.hpp"
#include "flowplan/topology/cluster.hpp"

namespace flowplan::inference {

/// A time over a size in bytes, asked of the collectives at a row of sizes and interpolated between
/// in the logarithms of both.
class SizeCurve {
 public:
  SizeCurve() = default;
  SizeCurve(std::vector<double> bytes, std::vector<double> seconds);
  /// 0 without points.
  [[nodiscard]] Seconds operator()(Bytes size) const;
  [[nodiscard]] bool empty() const { return log_bytes_.empty(); }

 private:
  std::vector<double> log_bytes_, log_seconds_;
};

/// What the ranks of a layout say to each other.
struct StepCollectives {
  SizeCurve all_reduce;        ///< of a TP group; empty at tp 1
  SizeCurve stage_all_reduce;  ///< of all ranks of a stage; empty without attention DP
  SizeCurve send;              ///< from one stage to the next; empty at pp 1
  /// Over tokens of one rank: a dispatch and a combine across NVLink domains; empty inside one.
  SizeCurve network_exchange;
  BytesPerSecond nvlink{};  ///< of a port, one direction
};

/// All-reduces over TP ranks in a pass: after attention, and after the MLP unless attention ranks
/// exchange tokens there.
[[nodiscard]] double all_reduces_of_pass(const model::Transformer& model, const Layout& layout);

/// The machines of one instance of a layout. Errors: those of `Cluster::build`.
[[nodiscard]] Result<topology::Cluster> instance_cluster(const catalog::Catalog& catalog,
                                                         const catalog::Instance& instance,
                                                         const Layout& layout);

/// Dispatch and combine of one layer across NVLink domains, for `tokens` of one rank. Errors: those
/// of `expert_parallel`.
[[nodiscard]] Result<collective::ExpertOutcome> network_exchange(const catalog::Catalog& catalog,
                                                                 const catalog::Instance& instance,
                                                                 const model::Transformer& model,
                                                                 const Layout& layout,
                                                                 double tokens);

/// Errors: those of the collectives (FP030, FP032, FP060, FP061, FP062).
[[nodiscard]] Result<StepCollectives> step_collectives(const catalog::Catalog& catalog,
                                                       const catalog::Instance& instance,
                                                       const model::Transformer& model,
                                                       const Layout& layout);

}  // namespace flowplan::inference
