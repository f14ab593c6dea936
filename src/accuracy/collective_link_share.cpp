#include "collective_link_share.hpp"

#include <algorithm>
#include <vector>

#include "flowplan/base/assert.hpp"
#include "flowplan/collective/schedule.hpp"

namespace flowplan::accuracy {

double busiest_link_share(const collective::Stack& stack, const topology::Cluster& cluster,
                          const collective::Request& request, const collective::Outcome& outcome) {
  using namespace collective;
  FLOWPLAN_ASSERT(request.groups.size() == 1);
  const Group& group = request.groups.front();
  const bool in_order = request.operation == Operation::send_recv;
  const Schedule schedule{request.operation, outcome.algorithm, outcome.protocol,
                          outcome.shape,     request.size,      outcome.channel_share};
  const double wire = stack.wire_factor[index(outcome.protocol)];
  std::vector<double> bytes(cluster.links(), 0.0);
  visit_loads(stack, schedule, cluster,
              in_order && outcome.shape.nodes > 1 ? Members{group} : members_of(group, cluster),
              [&](std::span<const flow::Use> uses, double payload) {
                for (const flow::Use& use : uses)
                  bytes[flow::index(use.link)] += payload * wire;
              });
  double most = 0.0;
  for (std::uint32_t link = 0; link < bytes.size(); ++link) {
    if (bytes[link] == 0.0) continue;
    const double fits = cluster.capacity(flow::LinkId{link}) * outcome.time.value();
    most = std::max(most, bytes[link] / fits);
  }
  return most;
}

}  // namespace flowplan::accuracy
