#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include "../scenario/catalog_for_tests.hpp"
#include "flowplan/base/json_document.hpp"
#include "flowplan/export/plan.hpp"
#include "flowplan/scenario/run.hpp"

namespace flowplan::exporting {

inline const catalog::Catalog& shipped_catalog() {
  return real_catalog();
}

inline scenario::Scenario scenario_from_text(const std::string& text) {
  return must_read(text);
}

/// 22 nodes of p5.48xlarge, 4 below a leaf, 2 leaves in a pod: 6 leaves, 3 pods, the last ones
/// partly used. 176 GPUs.
inline std::string three_pods() {
  return R"({
    "name": "Llama 3 8B: three pods",
    "cluster": {"instance": "p5.48xlarge", "nodes": 22, "region": "us-east-1",
                "fabric": {"nodes_per_leaf": 4, "leaves_per_pod": 2}},
    "workload": {"kind": "pretraining", "model": "llama3-8b", "tokens": "1T", "seq_len": 8192,
                 "global_batch": 352, "parallelism": {"tp": 2}}})";
}

/// Two UltraServers of 18 nodes, 16 of which work.
inline std::string two_ultraservers() {
  return R"({
    "name": "Two UltraServers",
    "cluster": {"instance": "u-p6e-gb200x72", "count": 2},
    "workload": {"kind": "pretraining", "model": "llama3-8b", "tokens": "1T", "seq_len": 8192,
                 "global_batch": 256, "placement": {"gpus_per_domain": 64},
                 "parallelism": {"tp": 2}}})";
}

inline Plan plan_from(const std::string& scenario, std::span<const std::string> hosts = {}) {
  auto plan = plan_of(shipped_catalog(), scenario_from_text(scenario), hosts);
  if (!plan) FAIL(render(plan.error()));
  return std::move(*plan);
}

/// A plan of any layout on p5.48xlarge, whatever the model would say to it.
inline Plan plan_of_layout(const training::Layout& layout, const std::string& framework) {
  const auto& catalog = shipped_catalog();
  topology::ClusterSpec spec;
  spec.instance = *catalog.instance("p5.48xlarge");
  const int gpus = layout.tp * layout.pp * layout.cp * layout.dp;
  spec.count = gpus / 8;
  Plan plan{"a plan",
            "a-plan",
            topology::Cluster::build(catalog, spec).value(),
            {},
            spec.instance,
            &catalog.gpu_of(*spec.instance),
            *catalog.constants("export-defaults"),
            "us-east-1",
            "on_demand",
            {},
            0,
            1,
            0,
            {},
            Plan::Work::pretraining};
  for (std::uint32_t i = 0; i < plan.nodes(); ++i)
    plan.node.push_back(plan.cluster.node_name(i));
  plan.job.model = **catalog.transformer("llama3-8b");
  plan.job.layout = layout;
  plan.job.framework = framework;
  plan.job.seq_len = 8192;
  plan.job.global_batch = 8L * layout.dp;
  plan.job_nodes = plan.nodes();
  return plan;
}

/// All documents of a text, or a failure.
inline std::vector<YAML::Node> yaml_of(const std::string& text) {
  return YAML::LoadAll(text);
}

inline YAML::Node find_kind(const std::vector<YAML::Node>& documents, const std::string& kind) {
  for (const YAML::Node& one : documents)
    if (one["kind"].as<std::string>() == kind) return one;
  FAIL("no object of kind " << kind);
  return {};
}

/// The file of that name.
inline std::string text_of(const std::vector<WrittenFile>& files, const std::string& name) {
  for (const WrittenFile& file : files)
    if (file.name == name) return file.text;
  FAIL("no file " << name);
  return {};
}

}  // namespace flowplan::exporting
