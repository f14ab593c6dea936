#include "dragonfly.hpp"

#include <fmt/format.h>

namespace flowplan::flow {
namespace {

/// Cable k of a group leads to the k-th group after it, round and round; each router has `ports_`
/// consecutive ones.
class DragonflyFabric : public Fabric {
 public:
  explicit DragonflyFabric(const Dragonfly& d)
      : d_(d),
        ports_((d.groups - 1 + d.routers_per_group - 1) / d.routers_per_group),
        first_local_(2 * hosts()),
        first_global_(first_local_ + routers() * (d.routers_per_group - 1)) {}

  [[nodiscard]] std::uint32_t hosts() const override { return routers() * d_.hosts_per_router; }

  void build(Case& out) const override {
    const std::uint32_t a = d_.routers_per_group, g = d_.groups, first_router = hosts();
    CaseBuilder builder(out, hosts() + routers(), first_global_ + std::uint64_t{g} * (g - 1));
    builder.add_nodes("h", hosts());
    builder.add_nodes("r", routers());
    for (std::uint32_t h = 0; h < hosts(); ++h) {
      builder.add_cable(h, first_router + h / d_.hosts_per_router, d_.bytes_per_s);
    }
    for (std::uint32_t r = 0; r < routers(); ++r) {
      for (std::uint32_t k = 1; k < a; ++k) {
        builder.add_link(first_router + r, first_router + r / a * a + (r + k) % a,
                         d_.local_bytes_per_s);
      }
    }
    for (std::uint32_t from = 0; from < g; ++from) {
      for (std::uint32_t k = 0; k + 1 < g; ++k) {
        const std::uint32_t to = (from + k + 1) % g;
        builder.add_link(first_router + gate(from, to), first_router + gate(to, from),
                         d_.global_bytes_per_s);
      }
    }
  }

  void route(std::uint32_t source, std::uint32_t target,
             std::vector<LinkId>& links) const override {
    std::uint32_t router = source / d_.hosts_per_router;
    const std::uint32_t last = target / d_.hosts_per_router;
    const std::uint32_t from = router / d_.routers_per_group, to = last / d_.routers_per_group;
    links.push_back(LinkId{2 * source});
    if (from != to) {
      cross(router, gate(from, to), links);
      links.push_back(LinkId{first_global_ + from * (d_.groups - 1) + cable(from, to)});
      router = gate(to, from);
    }
    cross(router, last, links);
    links.push_back(LinkId{2 * target + 1});
  }

 private:
  [[nodiscard]] std::uint32_t routers() const { return d_.groups * d_.routers_per_group; }

  /// Number of the cable among those of group `from`.
  [[nodiscard]] std::uint32_t cable(std::uint32_t from, std::uint32_t to) const {
    return (to + d_.groups - from - 1) % d_.groups;
  }
  /// The router of group `from` that the cable to group `to` hangs on.
  [[nodiscard]] std::uint32_t gate(std::uint32_t from, std::uint32_t to) const {
    return from * d_.routers_per_group + cable(from, to) / ports_;
  }
  /// One hop within a group, or none.
  void cross(std::uint32_t from, std::uint32_t to, std::vector<LinkId>& links) const {
    const std::uint32_t a = d_.routers_per_group;
    if (from != to)
      links.push_back(LinkId{first_local_ + from * (a - 1) + (to + a - from) % a - 1});
  }

  Dragonfly d_;
  std::uint32_t ports_;  // cables to other groups on a router, at most
  std::uint32_t first_local_, first_global_;
};

}  // namespace

Result<std::unique_ptr<Fabric>> make_fabric(const Dragonfly& d) {
  if (d.groups == 0 || d.routers_per_group == 0 || d.hosts_per_router == 0) {
    return fail(bad_generator("a dragonfly needs groups, routers and hosts",
                              "for example dragonfly:groups=9,routers=4,hosts=2"));
  }
  if (!is_bandwidth(d.bytes_per_s) || !is_bandwidth(d.local_bytes_per_s) ||
      !is_bandwidth(d.global_bytes_per_s)) {
    return fail(bad_generator("bandwidth out of range"));
  }
  const std::uint64_t routers = bounded_product(d.groups, d.routers_per_group);
  if (bounded_product(routers, d.hosts_per_router) > most_hosts ||
      bounded_product(routers, d.routers_per_group) + bounded_product(d.groups, d.groups) >
          most_links) {
    return fail(
        bad_generator("the dragonfly is too large",
                      fmt::format("at most {} hosts and {} links", most_hosts, most_links)));
  }
  return std::make_unique<DragonflyFabric>(d);
}

}  // namespace flowplan::flow
