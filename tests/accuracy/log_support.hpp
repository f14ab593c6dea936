#pragma once

#include <memory>
#include <string_view>

#include <catch2/catch.hpp>

#include "flowplan/accuracy/compare_log.hpp"
#include "flowplan/collective/stack.hpp"
#include "shipped_catalog.hpp"

namespace flowplan::accuracy {

inline std::shared_ptr<const topology::Cluster> nodes_of_log(std::string_view instance, int count) {
  const auto found = shipped_catalog().instance(instance);
  if (!found) FAIL(render(found.error()));
  topology::ClusterSpec spec;
  spec.instance = *found;
  spec.count = count;
  auto cluster = topology::Cluster::build(shipped_catalog(), spec);
  if (!cluster) FAIL(render(cluster.error()));
  return std::make_shared<const topology::Cluster>(std::move(*cluster));
}

inline const catalog::Constants& profile_named(std::string_view id) {
  const auto found = shipped_catalog().constants(id);
  if (!found) FAIL(render(found.error()));
  return **found;
}

/// A log as a run would give it whose software is `profile`: from 8 B to 8 GiB in factors of 8, the
/// bandwidth at large sizes `slower` times less.
inline NcclLog log_of_run(const topology::Cluster& cluster, const catalog::Constants& profile,
                          collective::Operation operation, double slower = 1.0,
                          std::optional<collective::Algorithm> algorithm = {}) {
  const auto stack = collective::read_stack(profile);
  if (!stack) FAIL(render(stack.error()));
  NcclLog log;
  log.file = "run.log";
  log.operation = operation;
  log.ranks = static_cast<int>(cluster.gpus());
  log.hosts = cluster.spec().count;
  log.concluded = true;
  collective::Request request;
  request.operation = operation;
  request.groups = {collective::contiguous_group(cluster.gpus())};
  request.algorithm = algorithm;
  for (double size = 8.0; size <= 8.0 * 1024 * 1024 * 1024; size *= 8.0) {
    request.size = Bytes(size);
    const auto outcome = collective::predict(*stack, cluster, request);
    if (!outcome) FAIL(render(outcome.error()));
    const bool large = outcome->transfer >= outcome->latency + outcome->launch;
    NcclLogLine line;
    line.size_bytes = size;
    line.time_us = outcome->time.value() * 1e6 * (large ? slower : 1.0);
    line.busbw_gbytes_per_s = outcome->busbw.value() / 1e9 / (large ? slower : 1.0);
    log.lines.push_back(line);
  }
  return log;
}

}  // namespace flowplan::accuracy
