#include "flow_writer.hpp"

namespace flowplan::collective {

using topology::GpuId;
using topology::Tier;

void FlowWriter::send(GpuId from, GpuId to, double bytes) {
  links_.clear();
  if (cluster_.slowdowns().empty() || cluster_.domain_of(from) == cluster_.domain_of(to)) {
    cluster_.route(from, to, links_);
    return show(bytes);
  }
  const std::vector<GpuId> exits = cluster_.exits(from), entries = cluster_.entries(to);
  const double part = bytes / static_cast<double>(exits.size() * entries.size());
  for (const GpuId exit : exits) {
    for (const GpuId entry : entries)
      send_by(from, exit, entry, to, part);
  }
}

void FlowWriter::send_by(GpuId from, GpuId exit, GpuId entry, GpuId to, double bytes) {
  links_.clear();
  hop(from, exit);
  cluster_.exit_route(exit, links_);
  cluster_.fabric_route(exit, entry, links_);
  cluster_.entry_route(entry, links_);
  hop(entry, to);
  show(bytes);
}

void FlowWriter::hop(GpuId from, GpuId to) {
  if (from == to) return;
  links_.push_back(cluster_.nvlink_out(from));
  links_.push_back(cluster_.nvlink_in(to));
}

void FlowWriter::through_port(GpuId gpu, double bytes) {
  links_ = {cluster_.nvlink_out(gpu), cluster_.nvlink_in(gpu)};
  show(bytes);
}

void FlowWriter::port_out(GpuId gpu, double bytes) {
  cross(cluster_.nvlink_out(gpu), bytes);
}

void FlowWriter::port_in(GpuId gpu, double bytes) {
  cross(cluster_.nvlink_in(gpu), bytes);
}

void FlowWriter::leave(GpuId by, double bytes) {
  links_.clear();
  cluster_.exit_route(by, links_);
  show(bytes);
}

void FlowWriter::enter(GpuId by, double bytes) {
  links_.clear();
  cluster_.entry_route(by, links_);
  show(bytes);
}

void FlowWriter::cross(flow::LinkId link, double bytes) {
  links_.assign(1, link);
  show(bytes);
}

void FlowWriter::show(double bytes) {
  if (!(bytes > 0.0)) return;
  uses_.clear();
  for (const flow::LinkId link : links_)
    uses_.push_back({link, coefficient(link)});
  visit_(uses_, bytes);
}

double FlowWriter::coefficient(flow::LinkId link) const {
  switch (cluster_.tier(link)) {
    case Tier::nvlink:
      return coefficients_.nvlink;
    case Tier::pcie:
      return coefficients_.wire;
    default:
      return coefficients_.network;
  }
}

}  // namespace flowplan::collective
