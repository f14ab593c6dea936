#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <catch2/catch.hpp>

#include "flowplan/catalog/catalog.hpp"
#include "flowplan/collective/collective.hpp"
#include "flowplan/collective/stack.hpp"

namespace flowplan::collective {

/// The shipped catalog with the round figures at which its fit begins: times worked out by hand do
/// not change with a new fit. The fitted figures are held to measurements by the accuracy tests.
inline const catalog::Catalog& shipped() {
  const std::string starts = FLOWPLAN_SOURCE_DIR "/tests/accuracy/fit-starts/collectives-";
  static const auto loaded = catalog::Catalog::load(
      FLOWPLAN_SOURCE_DIR "/catalogs",
      {starts + "node-ampere.json", starts + "node-hopper.json", starts + "node-blackwell.json",
       starts + "ib-gb200.json", starts + "efa-hopper.json"});
  if (!loaded) FAIL(render(loaded.error()));
  return *loaded;
}

inline Stack stack_of(std::string_view id) {
  const auto constants = shipped().constants(id);
  if (!constants) FAIL(render(constants.error()));
  auto stack = read_stack(**constants);
  if (!stack) FAIL(render(stack.error()));
  return std::move(*stack);
}

inline topology::Cluster cluster_of(std::string_view instance, int count,
                                    topology::Fabric fabric = {}) {
  const auto found = shipped().instance(instance);
  if (!found) FAIL(render(found.error()));
  topology::ClusterSpec spec;
  spec.instance = *found;
  spec.count = count;
  spec.fabric = fabric;
  auto cluster = topology::Cluster::build(shipped(), spec);
  if (!cluster) FAIL(render(cluster.error()));
  return std::move(*cluster);
}

inline Request request_of(Operation operation, Bytes size, std::vector<Group> groups) {
  Request request;
  request.operation = operation;
  request.size = size;
  request.groups = std::move(groups);
  return request;
}

/// All GPUs as one group, with the instance's own stack.
inline Outcome outcome_of(const topology::Cluster& cluster, Operation operation, Bytes size) {
  auto outcome =
      predict(shipped(), cluster, request_of(operation, size, {contiguous_group(cluster.gpus())}));
  if (!outcome) FAIL(render(outcome.error()));
  return std::move(*outcome);
}

inline Outcome outcome_of(const topology::Cluster& cluster, const Request& request) {
  auto outcome = predict(shipped(), cluster, request);
  if (!outcome) FAIL(render(outcome.error()));
  return std::move(*outcome);
}

inline double us(Seconds time) {
  return time.value() * 1e6;
}
inline Bytes mib(double n) {
  return mebibytes(n);
}
inline Bytes gib(double n) {
  return gibibytes(n);
}

}  // namespace flowplan::collective
