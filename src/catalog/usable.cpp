#include "flowplan/catalog/usable.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace flowplan::catalog {

namespace {

Diagnostic not_known(const Instance& instance, std::string_view figure, const Source& source,
                     std::string_view consequence) {
  std::string message =
      fmt::format("{}: `{}` is not known, so {}", instance.id, figure, consequence);
  std::string hint = "a catalog overlay may state it (--catalog FILE)";
  if (!source.text.empty()) hint = fmt::format("looked for in: {}; {}", source.text, hint);
  return error(Code::unknown_figure, std::move(message), std::move(hint));
}

}  // namespace

Diagnostics usable_for(const Catalog& catalog, const Instance& instance, Purpose purpose) {
  Diagnostics reasons;
  if (!instance.only_in.empty()) {
    reasons.push_back(error(Code::bad_cluster,
                            fmt::format("{} is sold inside UltraServers only", instance.id),
                            fmt::format("use {}", fmt::join(instance.only_in, " or "))));
    return reasons;
  }
  const Gpu& gpu = catalog.gpu_of(instance);
  const auto need = [&](const Figure& figure, std::string_view name, std::string_view consequence) {
    if (!figure.known) {
      reasons.push_back(not_known(instance, name, figure.source, consequence));
    }
  };
  need(instance.hbm_reported_mib_per_gpu, "hbm_reported_mib_per_gpu",
       "what fits in its memory cannot be told");
  need(gpu.hbm_gbytes_per_s, "hbm_gbytes_per_s", "its memory-bound work cannot be timed");
  need(figure_of(gpu.facts, "dense_tflops.bf16"), "dense_tflops.bf16",
       "its compute cannot be timed");
  if (instance.nvlink_domain_gpus > 1) {
    need(gpu.nvlink_gbytes_per_s, "nvlink_gbytes_per_s_per_direction",
         "traffic between its GPUs cannot be timed");
  }
  if (purpose == Purpose::cluster) {
    need(instance.efa_gbps_total, "efa_gbps_total",
         "traffic between several of them cannot be timed; one alone can be planned");
  }
  return reasons;
}

}  // namespace flowplan::catalog
