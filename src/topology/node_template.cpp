#include "node_template.hpp"

namespace flowplan::topology {
namespace {

/// Appends to a template's links; returns the position of each.
class Builder {
 public:
  explicit Builder(NodeTemplate& node) : node_(node) {}

  std::uint32_t inside(std::uint32_t from, std::uint32_t to, Tier tier, BytesPerSecond capacity) {
    return add({from, to, NodeTemplate::End::inside, tier, capacity.value()});
  }
  std::uint32_t outside(std::uint32_t from, NodeTemplate::End end, Tier tier,
                        BytesPerSecond capacity) {
    return add({from, 0, end, tier, capacity.value()});
  }

 private:
  std::uint32_t add(const NodeTemplate::Link& link) {
    node_.links.push_back(link);
    return static_cast<std::uint32_t>(node_.links.size() - 1);
  }
  NodeTemplate& node_;
};

NodeTemplate count_parts(const Figures& figures) {
  NodeTemplate node;
  node.gpus = static_cast<std::uint32_t>(figures.gpus_per_node);
  node.nics = static_cast<std::uint32_t>(figures.nics_per_node);
  if (node.nics > 0) {
    node.gpus_per_nic = node.gpus / node.nics;
    node.switches = node.gpus / static_cast<std::uint32_t>(figures.gpus_per_pcie_switch);
    node.sockets = static_cast<std::uint32_t>(figures.sockets_per_node);
  }
  return node;
}

void add_gpus(NodeTemplate& node, Builder& add, const Figures& figures) {
  for (std::uint32_t gpu = 0; gpu < node.gpus; ++gpu) {
    if (figures.domain_gpus > 1)
      node.nvlink_out.push_back(
          add.outside(gpu, NodeTemplate::End::nvswitch_plane, Tier::nvlink, figures.nvlink));
    if (node.nics > 0) {
      const std::uint32_t its_switch = gpu / (node.gpus / node.switches);
      node.pcie_up.push_back(
          add.inside(gpu, node.first_switch() + its_switch, Tier::pcie, figures.pcie));
    }
  }
}

void add_switches(NodeTemplate& node, Builder& add, const Figures& figures) {
  const std::uint32_t gpus = node.gpus / node.switches;
  const std::uint32_t nics = node.nics / node.switches;
  for (std::uint32_t s = 0; s < node.switches; ++s) {
    const std::uint32_t from = node.first_switch() + s;
    for (std::uint32_t gpu = s * gpus; gpu < (s + 1) * gpus; ++gpu)
      node.pcie_down.push_back(add.inside(from, gpu, Tier::pcie, figures.pcie));
    for (std::uint32_t nic = s * nics; nic < (s + 1) * nics; ++nic)
      node.nic_up.push_back(add.inside(from, node.first_nic() + nic, Tier::pcie, figures.pcie));
    const std::uint32_t socket = s / (node.switches / node.sockets);
    add.inside(from, node.first_socket() + socket, Tier::pcie, figures.pcie);
  }
}

void add_sockets(const NodeTemplate& node, Builder& add, const Figures& figures) {
  const std::uint32_t switches = node.switches / node.sockets;
  for (std::uint32_t socket = 0; socket < node.sockets; ++socket) {
    const std::uint32_t from = node.first_socket() + socket;
    for (std::uint32_t s = socket * switches; s < (socket + 1) * switches; ++s)
      add.inside(from, node.first_switch() + s, Tier::pcie, figures.pcie);
    for (std::uint32_t other = 0; other < node.sockets; ++other)
      if (other != socket)
        add.inside(from, node.first_socket() + other, Tier::pcie, figures.socket);
  }
}

void add_nics(NodeTemplate& node, Builder& add, const Figures& figures) {
  for (std::uint32_t nic = 0; nic < node.nics; ++nic) {
    const std::uint32_t from = node.first_nic() + nic;
    const std::uint32_t its_switch = nic / (node.nics / node.switches);
    node.nic_down.push_back(
        add.inside(from, node.first_switch() + its_switch, Tier::pcie, figures.pcie));
    node.nic_out.push_back(add.outside(from, NodeTemplate::End::leaf, Tier::efa, figures.nic));
  }
}

}  // namespace

NodeTemplate make_node(const Figures& figures) {
  NodeTemplate node = count_parts(figures);
  Builder add(node);
  add_gpus(node, add, figures);
  if (node.nics > 0) {
    add_switches(node, add, figures);
    add_sockets(node, add, figures);
    add_nics(node, add, figures);
  }
  return node;
}

}  // namespace flowplan::topology
