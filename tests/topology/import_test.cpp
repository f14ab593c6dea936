#include "flowplan/topology/import.hpp"

#include <fstream>
#include <iterator>
#include <random>
#include <set>

#include <catch2/catch.hpp>

#include "flowplan/catalog/catalog.hpp"
#include "flowplan/topology/placement.hpp"

namespace flowplan::topology::import_test {
namespace {

const catalog::Catalog& shipped() {
  static const catalog::Catalog catalog =
      catalog::Catalog::load(FLOWPLAN_SOURCE_DIR "/catalogs").value();
  return catalog;
}

Imported read(const std::string& text) {
  auto imported = read_topology(text, "file");
  if (!imported) FAIL(render(imported.error()));
  return std::move(*imported);
}

ClusterSpec wired(const std::string& text, const std::string& instance = "") {
  auto spec = wire(shipped(), read(text), instance);
  if (!spec) FAIL(render(spec.error()));
  return std::move(*spec);
}

Cluster cluster_of(const ClusterSpec& spec) {
  auto cluster = Cluster::build(shipped(), spec);
  if (!cluster) FAIL(render(cluster.error()));
  return std::move(*cluster);
}

/// The first mistake of a text.
Diagnostic fault(const std::string& text, std::optional<ImportFormat> format = {}) {
  const auto imported = read_topology(text, "file", format);
  if (imported) {
    FAIL("read: " << text);
    return {};
  }
  return imported.error().front();
}

bool says(const Diagnostic& diagnostic, const char* part) {
  return (diagnostic.message + "\n" + diagnostic.hint).find(part) != std::string::npos;
}

std::string file(const char* name) {
  std::ifstream in(std::string(FLOWPLAN_SOURCE_DIR "/tests/topology/files/") + name);
  return {std::istreambuf_iterator<char>(in), {}};
}

const std::string tree =
    "# two leaves and a spine\n"
    "SwitchName=leaf1 Nodes=p5-[1-3]\n"
    "switchname=leaf2 nodes=p5-[4-5] LinkSpeed=100\n"
    "SwitchName=spine1 Switches=leaf[1-2]\n";

TEST_CASE("EC2's network nodes become leaves and pods of uneven size") {
  const Cluster cluster = cluster_of(wired(file("ec2.json")));
  // i-01, i-03, i-05 below leaf 1; i-02 below leaf 2; both in pod 1; i-04 below leaf 3 in pod 2.
  CHECK(cluster.nodes() == 5);
  CHECK(cluster.leaves() == 3);
  CHECK(cluster.pods() == 2);
  CHECK(cluster.node_name(0) == "i-01");
  CHECK(cluster.node_name(1) == "i-03");
  CHECK(cluster.node_name(3) == "i-02");
  CHECK(cluster.node_name(4) == "i-04");
  CHECK(cluster.leaf_of(GpuId{8 * 2}) == 0);
  CHECK(cluster.leaf_of(GpuId{8 * 3}) == 1);
  CHECK(cluster.pod_of(GpuId{8 * 3}) == 0);
  CHECK(cluster.pod_of(GpuId{8 * 4}) == 1);
  std::vector<flow::LinkId> links;
  cluster.route(GpuId{0}, GpuId{8 * 4}, links);
  CHECK(links.size() == 10);  // 3 links to the leaf, 2 up, 2 down, 3 to the GPU
  CHECK(cluster.link_name(links[2]) == "i-01.nic0->nn-leaf1");
  CHECK(cluster.link_name(links[3]) == "nn-leaf1->nn-pod1");
  CHECK(cluster.link_name(links[4]) == "nn-pod1->core0");
}

TEST_CASE("every link of an uneven cluster leads where its neighbours say") {
  for (const bool rails : {false, true})
    for (const Routing routing : {Routing::spray, Routing::ecmp}) {
      ClusterSpec spec = wired(file("ec2.json"));
      spec.fabric.rail_optimised = rails;
      spec.fabric.routing = routing;
      const Cluster cluster = cluster_of(spec);
      std::set<std::pair<VertexId, VertexId>> ends;
      bool ascending = true;
      for (std::uint32_t id = 0; id < cluster.links(); ++id) {
        const flow::LinkId link{id};
        ends.emplace(cluster.source(link), cluster.target(link));
        if (id > 0)
          ascending = ascending && cluster.source(flow::LinkId{id - 1}) <= cluster.source(link);
        CHECK(cluster.link_between(cluster.source(link), cluster.target(link)) == link);
      }
      CHECK(ascending);
      CHECK(ends.size() == cluster.links());
      for (const auto& [from, to] : ends)
        CHECK(ends.count({to, from}) == 1);
      for (std::uint32_t a = 0; a < cluster.gpus(); ++a)
        for (std::uint32_t b = 0; b < cluster.gpus(); b += 5) {
          std::vector<flow::LinkId> links;
          cluster.route(GpuId{a}, GpuId{b}, links);
          VertexId at = cluster.vertex(GpuId{a});
          bool chained = true;
          for (const flow::LinkId link : links) {
            chained = chained && cluster.source(link) == at;
            at = cluster.target(link);
          }
          CHECK((chained && at == cluster.vertex(GpuId{b})));
        }
    }
}

TEST_CASE("a Slurm tree gives nodes below leaves") {
  const Imported imported = read(tree);
  CHECK(imported.format == ImportFormat::slurm_conf);
  REQUIRE(imported.nodes.size() == 5);
  CHECK(imported.nodes[3].name == "p5-4");
  CHECK(imported.nodes[3].switches == std::vector<std::string>{"spine1", "leaf2"});
  CHECK(imported.nodes[3].place.line == 3);
  const Cluster cluster = cluster_of(wired(tree, "p5.48xlarge"));
  CHECK(cluster.leaves() == 2);
  CHECK(cluster.pods() == 1);
  CHECK(cluster.leaf_of(GpuId{3 * 8}) == 1);
}

TEST_CASE("topology.yaml says the same as topology.conf") {
  const Imported yaml = read(
      "- topology: a\n  cluster_default: true\n  tree:\n    switches:\n"
      "      - {switch: spine1, children: 'leaf[1-2]'}\n"
      "      - {switch: leaf1, nodes: 'p5-[1-3]'}\n      - {switch: leaf2, nodes: 'p5-[4-5]'}\n"
      "- topology: b\n  block:\n    blocks: [{block: b1, nodes: x}]\n");
  CHECK(yaml.format == ImportFormat::slurm_yaml);
  const Imported conf = read(tree);
  REQUIRE(yaml.nodes.size() == conf.nodes.size());
  for (std::size_t i = 0; i < conf.nodes.size(); ++i) {
    CHECK(yaml.nodes[i].name == conf.nodes[i].name);
    CHECK(yaml.nodes[i].switches == conf.nodes[i].switches);
  }
  CHECK(yaml.notes.size() == 1);  // topology b is left out
}

TEST_CASE("Slurm blocks are UltraServers, filled up where nodes are missing") {
  const std::string blocks =
      "BlockName=us1 Nodes=gb[001-018]\nBlockName=us2 Nodes=gb[019-035]\n"
      "BlockSizes=18\n";
  const Cluster cluster = cluster_of(wired(blocks, "u-p6e-gb200x72"));
  CHECK(cluster.gpus_per_domain() == 72);
  CHECK(cluster.domains() == 2);
  CHECK(cluster.nodes() == 36);
  CHECK(cluster.takes_ranks(34));
  CHECK_FALSE(cluster.takes_ranks(35));
  CHECK(cluster.node_name(35) == "us2.unlisted0");
  CHECK(room(cluster) == 35 * 4);
  CHECK(place(cluster, 140)->gpu.back() == GpuId{34 * 4 + 3});
  CHECK_FALSE(place(cluster, 141));
  // Nine nodes at most: the smaller UltraServer will do.
  CHECK(cluster_of(wired("BlockName=a Nodes=n[1-9]\n", "p6e-gb200.36xlarge")).gpus_per_domain() ==
        36);
}

TEST_CASE("Kubernetes labels give switches, UltraServers and nodes that take no ranks") {
  const std::string yaml =
      "apiVersion: v1\nkind: List\nitems:\n"
      "- kind: Node\n  metadata:\n    name: a\n    labels: {node.kubernetes.io/instance-type: "
      "p6-b200.48xlarge, topology.k8s.aws/network-node-layer-1: t, "
      "topology.k8s.aws/network-node-layer-2: s, topology.k8s.aws/network-node-layer-3: p, "
      "topology.k8s.aws/network-node-layer-4: l1}\n  spec: {unschedulable: true}\n"
      "- kind: Node\n  metadata:\n    name: b\n    labels: {node.kubernetes.io/instance-type: "
      "p6-b200.48xlarge, topology.k8s.aws/network-node-layer-1: t, "
      "topology.k8s.aws/network-node-layer-2: s, topology.k8s.aws/network-node-layer-3: p, "
      "topology.k8s.aws/network-node-layer-4: l2}\n"
      "  status: {conditions: [{type: Ready, status: 'True'}]}\n";
  const Imported imported = read(yaml);
  CHECK(imported.format == ImportFormat::kubernetes);
  CHECK(imported.nodes[0].trouble == "cordoned");
  CHECK(imported.nodes[1].trouble.empty());
  const Cluster cluster = cluster_of(wired(yaml));
  CHECK(cluster.leaves() == 2);
  CHECK(cluster.pods() == 1);
  CHECK_FALSE(cluster.takes_ranks(0));
  CHECK(place(cluster, 8)->gpu.front() == GpuId{8});
  // The same as JSON.
  const std::string json =
      R"({"kind": "List", "items": [{"kind": "Node", "metadata": {"name": "a", "labels":)"
      R"({"node.kubernetes.io/instance-type": "p5.48xlarge",)"
      R"("topology.k8s.aws/network-node-layer-1": "t"}}}]})";
  CHECK(read(json).nodes[0].switches == std::vector<std::string>{"t"});
}

TEST_CASE("the order of the file is a placement") {
  const Cluster cluster = cluster_of(wired(file("ec2.json")));
  PlacementSpec spec;
  spec.kind = PlacementKind::imported;
  const Placement placement = place(cluster, 40, spec).value();
  CHECK(cluster.node_name(cluster.node_of(placement.gpu[0])) == "i-01");
  CHECK(cluster.node_name(cluster.node_of(placement.gpu[8])) == "i-02");
  CHECK(cluster.node_name(cluster.node_of(placement.gpu[16])) == "i-03");
  CHECK(std::set<GpuId>(placement.gpu.begin(), placement.gpu.end()).size() == 40);
}

TEST_CASE("the fewest leaves: the smallest that holds the job, or the largest ones first") {
  const Cluster cluster = cluster_of(wired(file("ec2.json")));  // leaves of 3, 1 and 1 nodes
  PlacementSpec spec;
  spec.kind = PlacementKind::by_leaf;
  CHECK(cluster.leaf_of(place(cluster, 8, spec)->gpu[0]) == 1);   // a leaf of one node
  CHECK(cluster.leaf_of(place(cluster, 16, spec)->gpu[0]) == 0);  // needs the leaf of three
  const Placement four = place(cluster, 32, spec).value();
  CHECK(cluster.leaf_of(four.gpu[23]) == 0);
  CHECK(cluster.leaf_of(four.gpu[24]) == 1);
  spec.kind = PlacementKind::spread;
  const Placement three = place(cluster, 24, spec).value();
  CHECK(cluster.leaf_of(three.gpu[0]) == 0);
  CHECK(cluster.leaf_of(three.gpu[8]) == 1);
  CHECK(cluster.leaf_of(three.gpu[16]) == 2);
}

TEST_CASE("the type is the file's only one, or the one asked for") {
  const auto type = [](const std::string& text, const std::string& wanted) {
    return wire(shipped(), read(text), wanted);
  };
  REQUIRE_FALSE(type(tree, ""));  // Slurm says no types
  CHECK(says(type(tree, "").error().front(), "--instance"));
  const std::string two =
      R"({"Instances": [{"InstanceId": "a", "InstanceType": "p5.48xlarge", "NetworkNodes": ["x"]},)"
      R"({"InstanceId": "b", "InstanceType": "p5en.48xlarge", "NetworkNodes": ["x"]},)"
      R"({"InstanceId": "c", "InstanceType": "m6i.large", "NetworkNodes": ["y", "z"]}]})";
  REQUIRE_FALSE(type(two, ""));
  CHECK(says(type(two, "").error().front(), "p5en.48xlarge (1)"));
  CHECK(type(two, "p5en.48xlarge")->count == 1);
  CHECK(type(two, "p5en.48xlarge")->wiring->node.front() == "b");
  CHECK_FALSE(type(two, "p4d.24xlarge"));
  CHECK_FALSE(type(two, "p5.49xlarge"));
}

TEST_CASE("a type that the catalog does not have is told where the file names it") {
  const std::string text = R"({"Instances": [
    {"InstanceId": "i-1", "InstanceType": "p5.48xlarge", "NetworkNodes": ["a", "b", "c"]},
    {"InstanceId": "i-2", "InstanceType": "p9.48xlarge", "NetworkNodes": ["a", "b", "c"]}]})";
  CHECK(wired(text).instance->id == "p5.48xlarge");  // the only one that is known
  std::string unknown = text;
  unknown.replace(unknown.find("p5.48"), 5, "p8.48");
  const auto refused = wire(shipped(), read(unknown), "");
  REQUIRE_FALSE(refused);
  const Diagnostic& first = refused.error().front();
  CHECK(first.place.line == 2);
  CHECK(says(first, "p8.48xlarge"));
  CHECK(exit_code(refused.error()) == 3);
}

TEST_CASE("an UltraServer larger than its type and leaves below two pods are refused") {
  CHECK_FALSE(wire(shipped(), read("BlockName=a Nodes=n[1-19]\n"), "u-p6e-gb200x72"));
  const std::string crossed =
      R"({"Instances": [{"InstanceId": "a", "InstanceType": "p5.48xlarge", "NetworkNodes": ["t", "p", "l"]},)"
      R"({"InstanceId": "b", "InstanceType": "p5.48xlarge", "NetworkNodes": ["t", "q", "l"]}]})";
  const auto spec = wire(shipped(), read(crossed), "");
  REQUIRE_FALSE(spec);
  CHECK(says(spec.error().front(), "l is below p for a and below q for b"));
  const std::string uneven =
      R"({"Instances": [{"InstanceId": "a", "InstanceType": "p5.48xlarge", "NetworkNodes": ["t", "p", "l"]},)"
      R"({"InstanceId": "b", "InstanceType": "p5.48xlarge", "NetworkNodes": ["t", "l"]}]})";
  CHECK_FALSE(wire(shipped(), read(uneven), ""));
}

TEST_CASE("bad topology.conf: the line and what is wrong") {
  struct Bad {
    const char* text;
    int line;
    const char* says;
  };
  for (const Bad& bad : std::initializer_list<Bad>{
           {"SwitchName=a Nodes=n1\nSwitchName=a Nodes=n2\n", 2, "named twice"},
           {"SwitchName=a Nodes=n1\nSwitchName=b Nodes=n1\n", 2, "below both a and b"},
           {"SwitchName=a Nodes=n1,n1\n", 1, "lists node n1 twice"},
           {"SwitchName=a Switches=b\nSwitchName=b Switches=a\n", 2, "below itself"},
           {"SwitchName=a Switches=a\n", 1, "below itself"},
           {"SwitchName=a Nodes=n1\nSwitchName=s Switches=b\n", 2, "switch b is not described"},
           {"SwitchName=l1 Nodes=n1\nSwitchName=s Switches=l1\nSwitchName=t Switches=l1\n", 3,
            "below both s and t"},
           {"SwitchName=a\n", 1, "nothing below it"},
           {"SwitchName=a Nodes=n1\nSwitchName=b Nodes=n2 Switches=a\n", 2, "both nodes"},
           {"SwitchName=a Node=n1\n", 1, "did you mean `Nodes`"},
           {"SwitchName=a Nodes=n[1-\n", 1, "not a hostlist"},
           {"SwitchName=a Nodes\n", 1, "not Key=Value"},
           {"SwitchName=a Nodes=\n", 1, "no value"},
           {"SwitchName=a Nodes=n1 Nodes=n2\n", 1, "given twice"},
           {"Nodes=n1\nSwitchName=a Nodes=n1\n", 1, "needs SwitchName"},
           {"SwitchName=a Nodes=n1\nBlockName=b Nodes=n2\n", 2, "both switches and blocks"},
           {"RingName=r Nodes=n[1-4]\n#SwitchName=\n", 1, "ring"},
           {"BlockName=b\n", 1, "has no nodes"},
           {"BlockName=b Nodes=x\nBlockName=b Nodes=y\n", 2, "named twice"}}) {
    CAPTURE(bad.text);
    const Diagnostic first = fault(bad.text, ImportFormat::slurm_conf);
    CHECK(first.place.line == bad.line);
    CHECK(first.place.file == "file");
    CAPTURE(first.message, first.hint);
    CHECK(says(first, bad.says));
  }
  CHECK(says(fault("", ImportFormat::slurm_conf), "no switch and no block"));
}

TEST_CASE("bad topology.yaml: the line, the pointer and what is wrong") {
  struct Bad {
    const char* text;
    int line;
    const char* says;
  };
  for (const Bad& bad : std::initializer_list<Bad>{
           {"- topology: [a\n  tree: {\n", 2, "not YAML"},
           {"topology: a\ntree: {}\n", 1, "one list of topologies"},
           {"- topology: a\n  tree:\n    switchs: []\n", 3, "did you mean `switches`"},
           {"- topology: a\n  ring: {}\n", 1, "ring"},
           {"- topology: a\n", 1, "needs tree: or block:"},
           {"- tree: {switches: [{switch: a, nodes: n}]}\n", 1, "NAME is missing"},
           {"- topology: a\n  tree: {switches: [{nodes: n}]}\n", 2, "switch is missing"},
           {"- topology: a\n  tree: {switches: [{switch: a, nodes: 'n['}]}\n", 2, "hostlist"},
           {"- topology: a\n  tree: {switches: [{switch: a, nodes: [n]}]}\n", 2, "plain value"},
           {"- topology: a\n  tree: {switches: [{switch: a, nodes: n, nodes: m}]}\n", 2, "twice"},
           {"- topology: a\n  tree: {switches: [x]}\n", 2, "must have keys"},
           {"- topology: a\n  block: {blocks: [{block: a, nodes: n}]}\n- topology: b\n  tree: {}\n",
            1, "0 of 2 topologies"}}) {
    CAPTURE(bad.text);
    const Diagnostic first = fault(bad.text, ImportFormat::slurm_yaml);
    CAPTURE(first.message, first.hint);
    CHECK(first.place.line == bad.line);
    CHECK(says(first, bad.says));
  }
}

TEST_CASE("bad EC2 answers: the pointer and what is wrong") {
  struct Bad {
    const char* text;
    const char* pointer;
    Code code;
  };
  for (const Bad& bad : std::initializer_list<Bad>{
           {"{\"Instances\": [", "", Code::json_syntax},
           {"{}", "", Code::missing_key},
           {"[]", "", Code::missing_key},
           {R"({"Instances": {}})", "/Instances", Code::wrong_type},
           {R"({"Instances": []})", "/Instances", Code::bad_cluster},
           {R"({"Instances": [1]})", "/Instances/0", Code::wrong_type},
           {R"({"Instances": [{"InstanceType": "p5", "NetworkNodes": ["a"]}]})", "/Instances/0",
            Code::missing_key},
           {R"({"Instances": [{"InstanceId": "i", "InstanceType": "p5"}]})", "/Instances/0",
            Code::missing_key},
           {R"({"Instances": [{"InstanceId": "i", "InstanceType": "p5", "NetworkNodes": [1]}]})",
            "/Instances/0/NetworkNodes/0", Code::wrong_type},
           {R"({"Instances": [{"InstanceId": "i", "InstanceType": "p5", "NetworkNodes": []}]})",
            "/Instances/0/NetworkNodes", Code::wrong_type},
           {R"({"Instances": [{"InstanceId": 7, "InstanceType": "p5", "NetworkNodes": ["a"]}]})",
            "/Instances/0/InstanceId", Code::wrong_type},
           {R"({"Instances": [{"InstanceId": "i", "InstanceType": "p5", "NetworkNodes": ["a"]},
              {"InstanceId": "i", "InstanceType": "p5", "NetworkNodes": ["a"]}]})",
            "/Instances/1/InstanceId", Code::bad_cluster}}) {
    CAPTURE(bad.text);
    const Diagnostic first = fault(bad.text, ImportFormat::ec2);
    CHECK(first.code == bad.code);
    CHECK(first.place.pointer == bad.pointer);
  }
  const Diagnostic misspelt =
      fault(R"({"Instances": [{"InstanceID": "i", "InstanceType": "p5", "NetworkNodes": ["a"]}]})");
  CHECK(says(misspelt, "`InstanceID` is no key"));
}

TEST_CASE("bad Kubernetes lists: the line and what is wrong") {
  struct Bad {
    const char* text;
    const char* says;
  };
  for (const Bad& bad : std::initializer_list<Bad>{
           {"kind: List\nitems: {a: [", "not YAML"},
           {"kind: Pod\nmetadata: {name: a}\n", "kind `Pod`"},
           {"kind: List\nitems: 3\n", "items must be a list"},
           {"kind: List\nitems: [{kind: Pod}]\n", "only nodes"},
           {"kind: List\nitems: [{kind: Node}]\n", "metadata.name"},
           {"kind: List\nitems: [7]\n", "must have keys"},
           {"kind: List\nitems: []\n", "no node is listed"},
           {"kind: Node\nmetadata: {name: a}\n---\nkind: Node\nmetadata: {name: a}\n", "twice"},
           {"kind: Node\nmetadata: {name: a, name: b}\n", "twice"},
           {"kind: Node\nmetadata: {name: a, labels: {topology.k8s.aws/network-node-layer-1: x, "
            "topology.k8s.aws/network-node-layer-3: y}}\n",
            "layer 3 but not of layer 2"}}) {
    CAPTURE(bad.text);
    const Diagnostic first = fault(bad.text, ImportFormat::kubernetes);
    CAPTURE(first.message, first.hint);
    CHECK(says(first, bad.says));
  }
  // Without labels it is read, but no cluster.
  CHECK_FALSE(wire(shipped(), read("kind: Node\nmetadata: {name: a}\n"), "p5.48xlarge"));
}

TEST_CASE("a text of no known kind is refused with the kinds that are") {
  for (const char* text : {"", "hello", "{}", "<a/>", "1,2,3\n", "[1, 2]"}) {
    CAPTURE(text);
    CHECK(fault(text).code == Code::wrong_kind_of_file);
  }
  CHECK(fault("<system version=\"1\"/>").code == Code::wrong_kind_of_file);  // of a node
}

TEST_CASE("a comma before a YAML document ends with a diagnostic") {
  CHECK_FALSE(read_topology(",- topology: a\n  tree:\n", "t", ImportFormat::slurm_yaml));
}

TEST_CASE("damaged files give diagnostics, never a crash") {
  const std::string yaml =
      "- topology: a\n  tree:\n    switches:\n      - switch: s\n        nodes: n[1-4]\n";
  const std::vector<std::string> good{
      file("ec2.json"), tree, yaml,
      "kind: List\nitems:\n- kind: Node\n  metadata: {name: a, labels: {a: b}}\n"};
  const ImportFormat formats[] = {ImportFormat::ec2, ImportFormat::slurm_conf,
                                  ImportFormat::slurm_yaml, ImportFormat::kubernetes};
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    std::string text = good[static_cast<std::size_t>(round) % 4];
    const auto edits = 1 + random() % 4;
    for (unsigned i = 0; i < edits; ++i) {
      const std::size_t at = random() % text.size();
      const char junk[] = "{}[]:,-\"'=#\n\t &*!|>%@\\0a\x80";
      if (random() % 3 == 0)
        text.erase(at, 1 + random() % 8);
      else
        text.insert(at, 1, junk[random() % (sizeof junk - 1)]);
      if (text.empty()) text = " ";
    }
    const auto imported = read_topology(text, "file", formats[round % 4]);
    if (!imported) {
      CHECK_FALSE(imported.error().empty());
      continue;
    }
    const auto spec = wire(shipped(), *imported, "p5.48xlarge");
    if (spec) CHECK(Cluster::build(shipped(), *spec).has_value());
  }
}

}  // namespace
}  // namespace flowplan::topology::import_test
