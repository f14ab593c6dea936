#include "flowplan/export/slurm.hpp"

#include <map>
#include <set>

#include <catch2/catch.hpp>

#include "../missing_tool.hpp"
#include "example_plan.hpp"
#include "external_tool.hpp"
#include "flowplan/topology/import.hpp"

namespace flowplan::exporting::slurm_test {

namespace {

/// What is below one switch, by the switch's name.
using Below = std::map<std::string, std::set<std::string>>;

Below leaves_of(const topology::Imported& imported) {
  Below below;
  for (const topology::ImportedNode& node : imported.nodes)
    below[node.switches.empty() ? node.domain : node.switches.back()].insert(node.name);
  return below;
}

topology::Imported import(const std::string& text) {
  auto imported = topology::read_topology(text, "topology");
  if (!imported) FAIL(render(imported.error()));
  return std::move(*imported);
}

}  // namespace

TEST_CASE("a tree is read back as the cluster that it was written from") {
  const Plan plan = plan_from(three_pods());
  for (const std::string& text :
       {slurm_topology_conf(plan, SlurmTopology::tree), slurm_topology_yaml(plan)}) {
    const topology::Imported imported = import(text);
    const auto spec = topology::wire(shipped_catalog(), imported, "p5.48xlarge");
    REQUIRE(spec);
    const topology::Wiring& wiring = *spec->wiring;
    REQUIRE(wiring.node.size() == 22);
    for (std::uint32_t node = 0; node < 22; ++node) {
      CHECK(wiring.node[node] == "node" + std::to_string(node));
      CHECK(wiring.leaf[node] == node / 4);
      CHECK(wiring.pod[wiring.leaf[node]] == node / 8);
    }
    CHECK(wiring.leaf_name[5] == "leaf5");
    CHECK(wiring.pod_name[2] == "pod2");
  }
}

TEST_CASE("what was read back is written as before") {
  const Plan plan = plan_from(three_pods());
  const std::string text = slurm_topology_conf(plan, SlurmTopology::tree);
  auto spec = topology::wire(shipped_catalog(), import(text), "p5.48xlarge");
  REQUIRE(spec);
  Plan again = plan;
  again.cluster = topology::Cluster::build(shipped_catalog(), *spec).value();
  const std::string second = slurm_topology_conf(again, SlurmTopology::tree);
  // But for the comment that the switches are assumed.
  CHECK(second.substr(second.find("SwitchName")) == text.substr(text.find("SwitchName")));
}

TEST_CASE("UltraServers are blocks, with the sizes that can be planned") {
  const Plan plan = plan_from(two_ultraservers());
  CHECK(slurm_topology_of(plan) == SlurmTopology::block);
  const std::string conf = slurm_topology_conf(plan, SlurmTopology::block);
  CHECK(conf.find("BlockName=nvlink0 Nodes=node[0-17]\n") != conf.npos);
  CHECK(conf.find("BlockSizes=18,36\n") != conf.npos);
  const Below blocks = leaves_of(import(conf));
  REQUIRE(blocks.size() == 2);
  CHECK(blocks.at("nvlink1").size() == 18);
  const YAML::Node yaml = YAML::Load(slurm_topology_yaml(plan));
  REQUIRE(yaml.size() == 2);
  CHECK_FALSE(yaml[0]["cluster_default"].as<bool>());
  CHECK(yaml[1]["block"]["block_sizes"][1].as<int>() == 36);
  CHECK(yaml[1]["block"]["blocks"][1]["nodes"].as<std::string>() == "node[18-35]");
}

TEST_CASE("block sizes begin at the smallest block and double") {
  CHECK(block_sizes({18, 18, 18, 18}) == std::vector<std::uint32_t>{18, 36, 72});
  CHECK(block_sizes({18, 17, 18}) == std::vector<std::uint32_t>{17, 34});
  CHECK(block_sizes({5}) == std::vector<std::uint32_t>{5});
}

TEST_CASE("node and GRES lines say what a node has") {
  const Plan plan = plan_from(three_pods());
  const std::string nodes = slurm_nodes_conf(plan);
  // 95 % of 2 TiB, so that slurmd does not drain what reports a little less.
  CHECK(nodes.find("NodeName=node[0-21] CPUs=192 RealMemory=1992294 Gres=gpu:h100:8 ") !=
        nodes.npos);
  CHECK(nodes.find("TopologyPlugin=topology/tree\n") != nodes.npos);
  CHECK(slurm_gres_conf(plan) == "NodeName=node[0-21] Name=gpu Type=h100 File=/dev/nvidia[0-7]\n");
}

TEST_CASE("a batch script asks for the nodes, and for the placement that was predicted") {
  const Plan tree = plan_from(three_pods());
  const std::string script = slurm_batch_script(tree, launch_of(tree).value());
  for (const char* line :
       {"#SBATCH --nodes=22\n", "#SBATCH --gpus-per-node=h100:8\n", "#SBATCH --switches=6\n"})
    CHECK(script.find(line) != script.npos);
  const Plan blocks = plan_from(two_ultraservers());
  const std::string segments = slurm_batch_script(blocks, launch_of(blocks).value());
  CHECK(segments.find("#SBATCH --segment=16\n") != segments.npos);
  CHECK(segments.find("#SBATCH --nodes=32\n") != segments.npos);
}

TEST_CASE("the scripts are scripts") {
  const ToolFolder folder("flowplan-slurm-scripts");
  const Plan plan = plan_from(three_pods());
  const auto files = slurm_files(plan);
  REQUIRE(files);
  for (const char* name : {"job.sbatch", "launch.sh"})
    CHECK(run_tool("bash -n " + folder.write(name, text_of(*files, name))).code == 0);
}

TEST_CASE("a real slurmctld takes the files and draws the same tree", "[slow]") {
  if (!has_tool("slurmctld") || !has_tool("scontrol")) {
    missing_tool("slurmctld is not installed: not tried");
    return;
  }
  const Plan plan = plan_from(three_pods());
  const ToolFolder folder("flowplan-slurm");
  folder.write("topology.conf", slurm_topology_conf(plan, SlurmTopology::tree));
  folder.write("gres.conf", slurm_gres_conf(plan));
  // The hosts do not exist here: addresses spare the controller looking their names up.
  std::string nodes = slurm_nodes_conf(plan);
  nodes.insert(nodes.find(" CPUs="), " NodeAddr=127.0.0.[1-22]");
  folder.write("nodes.conf", nodes);
  const int port = 20000 + getpid() % 20000;
  const std::string conf = folder.write(
      "slurm.conf",
      fmt::format("ClusterName=flowplan\nSlurmctldHost=localhost\nSlurmUser=root\n"
                  "AuthType=auth/none\nCredType=cred/none\nSlurmctldPort={}\nSlurmdPort={}\n"
                  "StateSaveLocation={}/state\nSlurmdSpoolDir={}/spool\nSlurmctldPidFile={}/pid\n"
                  "ProctrackType=proctrack/linuxproc\nSelectType=select/cons_tres\n"
                  "Include {}/nodes.conf\n",
                  port, port + 1, folder.path(), folder.path(), folder.path(), folder.path()));
  const std::string log = folder.path() + "/log";
  const ToolRun run = run_tool(fmt::format(
      "mkdir -p {0}/state; export SLURM_CONF={1}; slurmctld -D -f {1} > {2} 2>&1 & daemon=$!; "
      "for i in $(seq 100); do scontrol ping 2> /dev/null | grep -q 'is UP' && break; sleep 0.1; "
      "done; scontrol show topology; status=$?; kill $daemon; wait $daemon; exit $status",
      folder.path(), conf, log));
  INFO(run.output);
  INFO(run_tool("tail -n 20 " + log).output);
  REQUIRE(run.code == 0);
  for (const char* line :
       {"SwitchName=leaf0 Level=0 LinkSpeed=1 Nodes=node[0-3]",
        "SwitchName=leaf5 Level=0 LinkSpeed=1 Nodes=node[20-21]",
        "SwitchName=pod1 Level=1 LinkSpeed=1 Nodes=node[8-15] Switches=leaf[2-3]",
        "SwitchName=core Level=2 LinkSpeed=1 Nodes=node[0-21] Switches=pod[0-2]"})
    CHECK(run.output.find(line) != run.output.npos);
}

}  // namespace flowplan::exporting::slurm_test
