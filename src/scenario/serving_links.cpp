#include "serving_links.hpp"

#include <algorithm>
#include <string>

#include "flowplan/inference/pass_traffic.hpp"
#include "serving_pass.hpp"

namespace flowplan::scenario {

namespace {

double mean_prompt(const inference::Workload& workload) {
  double tokens = 0.0;
  for (const inference::Request& request : workload.requests)
    tokens += request.input_tokens;
  return tokens / static_cast<double>(std::max<std::size_t>(1, workload.requests.size()));
}

/// KV of the finished requests over the ports that prefill workers send by, one at a time each.
void add_transfer(const ServingFleet& fleet, const ServingAnswer& answer,
                  const inference::Workload& workload, const std::string& nic, LinkLoads& loads) {
  const inference::KvTransfer& transfer = fleet.pools->transfer;
  const int domain = fleet.setup.instance->nvlink_domain_gpus;
  const bool inside = answer.prefill->layout.gpus() + answer.layout.gpus() <= domain;
  const Bytes kv = transfer.per_token * mean_prompt(workload) + transfer.per_sequence;
  const BytesPerSecond ports = transfer.rate * static_cast<double>(fleet.pools->prefill.replicas);
  loads.known.push_back({inside ? "nvlink" : nic, "KV from prefill workers, out of their ports",
                         (kv / ports).value() * answer.summary.requests_per_s, 1.0});
}

}  // namespace

Result<LinkLoads> serving_links(const catalog::Catalog& catalog, const ServingFleet& fleet,
                                const ServingAnswer& answer, const inference::Workload& workload,
                                Seconds pass, const std::string& nic) {
  LinkLoads loads;
  const catalog::Instance& instance = *fleet.setup.instance;
  if (fleet.setup.layout.gpus() > 1 && pass.value() > 0.0) {
    const DecodePass mean = mean_decode_pass(fleet, answer);
    const auto traffic =
        inference::pass_traffic(catalog, fleet.setup, mean.tokens(), mean.tokens());
    if (!traffic) return fail(traffic.error());
    const catalog::Gpu& gpu = catalog.gpu_of(instance);
    const auto add = [&](const std::string& tier, Bytes sent, BytesPerSecond port) {
      if (sent.value() > 0.0 && port.value() > 0.0)
        loads.known.push_back(
            {tier, "collectives of a decode pass", std::nullopt, sent / (port * pass)});
    };
    if (gpu.nvlink_gbytes_per_s)
      add("nvlink", traffic->nvlink, gigabytes_per_second(gpu.nvlink_gbytes_per_s.value));
    add(nic, traffic->network, instance.efa_per_gpu());
    loads.unknown.emplace_back(
        "Collectives of passes with prompts in them: in the time of those passes, not counted by "
        "tier. So no share of the whole run is known.");
  }
  if (fleet.pools) add_transfer(fleet, answer, workload, nic, loads);
  return loads;
}

}  // namespace flowplan::scenario
