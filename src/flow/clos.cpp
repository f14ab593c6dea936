#include "clos.hpp"

#include <fmt/format.h>

namespace flowplan::flow {
namespace {

class ClosFabric : public Fabric {
 public:
  explicit ClosFabric(const Clos& clos) : clos_(clos) {}

  [[nodiscard]] std::uint32_t hosts() const override { return clos_.leaves * clos_.hosts_per_leaf; }

  void build(Case& out) const override {
    const std::uint32_t first_leaf = hosts(), first_spine = first_leaf + clos_.leaves;
    CaseBuilder builder(out, first_spine + clos_.spines,
                        2 * (hosts() + std::uint64_t{clos_.leaves} * clos_.spines));
    builder.add_nodes("h", hosts());
    builder.add_nodes("leaf", clos_.leaves);
    builder.add_nodes("spine", clos_.spines);
    for (std::uint32_t h = 0; h < hosts(); ++h) {
      builder.add_cable(h, first_leaf + h / clos_.hosts_per_leaf, clos_.bytes_per_s);
    }
    const double spine_cable =
        clos_.bytes_per_s * clos_.hosts_per_leaf / (clos_.oversubscription * clos_.spines);
    for (std::uint32_t leaf = 0; leaf < clos_.leaves; ++leaf) {
      for (std::uint32_t spine = 0; spine < clos_.spines; ++spine) {
        builder.add_cable(first_leaf + leaf, first_spine + spine, spine_cable);
      }
    }
  }

  void route(std::uint32_t source, std::uint32_t target,
             std::vector<LinkId>& links) const override {
    const std::uint32_t from = source / clos_.hosts_per_leaf, to = target / clos_.hosts_per_leaf;
    links.push_back(LinkId{2 * source});
    if (from != to) {
      const std::uint32_t spine = target % clos_.spines;
      links.push_back(LinkId{2 * (hosts() + from * clos_.spines + spine)});
      links.push_back(LinkId{2 * (hosts() + to * clos_.spines + spine) + 1});
    }
    links.push_back(LinkId{2 * target + 1});
  }

 private:
  Clos clos_;
};

}  // namespace

Result<std::unique_ptr<Fabric>> make_fabric(const Clos& clos) {
  if (clos.leaves == 0 || clos.hosts_per_leaf == 0 || clos.spines == 0) {
    return fail(bad_generator("a clos needs leaves, hosts and spines",
                              "for example clos:leaves=8,hosts=16,spines=4"));
  }
  if (!(clos.oversubscription >= 1e-3 && clos.oversubscription <= 1e3)) {
    return fail(bad_generator("oversubscription out of range", "0.001 to 1000"));
  }
  if (!(clos.bytes_per_s <= 1e20 && clos.bytes_per_s >= 1)) {
    return fail(bad_generator("bandwidth out of range", "1 to 1e20 bytes a second"));
  }
  if (bounded_product(clos.leaves, clos.hosts_per_leaf) > most_hosts ||
      2 * bounded_product(clos.leaves, clos.spines) > most_links) {
    return fail(bad_generator("the clos is too large", fmt::format("at most {} hosts and {} links",
                                                                   most_hosts, most_links)));
  }
  return std::make_unique<ClosFabric>(clos);
}

}  // namespace flowplan::flow
