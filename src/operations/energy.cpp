#include "flowplan/operations/energy.hpp"

#include <fmt/format.h>

#include "figures.hpp"
#include "flowplan/base/assert.hpp"

namespace flowplan::operations {

namespace {

constexpr double joules_a_kwh = 3.6e6;

/// What is stated, else the set's figure, which then goes into the list of those used.
double stated_or(const std::optional<double>& stated, FigureReader& read, std::string_view figure,
                 std::vector<UsedFigure>& used) {
  if (stated) return *stated;
  const double value = read.one(figure);
  used.push_back({fmt::format("energy {}", figure), value, "", read.source(figure)});
  return value;
}

}  // namespace

Result<Energy> energy(const catalog::Catalog& catalog, const catalog::Gpu& gpu, double gpus,
                      Seconds time, const EnergyAssumptions& assumptions) {
  FLOWPLAN_ASSERT(gpus > 0.0 && time.value() >= 0.0);
  const auto set = catalog.constants("energy");
  if (!set) return fail(set.error());
  if (!gpu.tdp_w) {
    return fail(error(Code::unknown_figure, fmt::format("the power of {} is not known", gpu.id)));
  }
  FigureReader read(**set);
  Energy e;
  e.gpu_tdp_w = gpu.tdp_w.value;
  e.figures.push_back({fmt::format("{} tdp_w", gpu.id), gpu.tdp_w.value, "W", gpu.tdp_w.source});
  e.node_over_gpu_tdp =
      stated_or(assumptions.node_over_gpu_tdp, read, "node.rating_over_gpu_tdp", e.figures);
  e.share_of_rating =
      stated_or(assumptions.share_of_rating, read, "node.share_of_rating", e.figures);
  e.pue = stated_or(assumptions.pue, read, "site.pue", e.figures);
  Diagnostics missing = read.missing();
  if (!missing.empty()) return fail(std::move(missing));
  e.machines_kwh =
      e.gpu_tdp_w * e.node_over_gpu_tdp * e.share_of_rating * gpus * time.value() / joules_a_kwh;
  e.site_kwh = e.machines_kwh * e.pue;
  return e;
}

}  // namespace flowplan::operations
