#include "torus.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace flowplan::flow {
namespace {

constexpr std::size_t most_dimensions = 8;

class TorusFabric : public Fabric {
 public:
  explicit TorusFabric(const Torus& torus) : bytes_per_s_(torus.bytes_per_s) {
    for (const std::uint32_t size : torus.dimensions) {
      rings_.push_back({size, hosts_, 0, size == 2 ? 1U : 2U});
      hosts_ *= size;
    }
    for (Ring& ring : rings_) {
      ring.first_link = links_;
      links_ += ring.ways * hosts_;
    }
  }

  [[nodiscard]] std::uint32_t hosts() const override { return hosts_; }

  void build(Case& out) const override {
    CaseBuilder builder(out, hosts_, links_);
    builder.add_nodes("h", hosts_);
    for (const Ring& ring : rings_) {
      for (std::uint32_t h = 0; h < hosts_; ++h) {
        for (std::uint32_t way = 0; way < ring.ways; ++way) {
          builder.add_link(h, step(ring, h, way), bytes_per_s_);
        }
      }
    }
  }

  void route(std::uint32_t source, std::uint32_t target,
             std::vector<LinkId>& links) const override {
    std::uint32_t node = source;
    for (const Ring& ring : rings_) {
      const std::uint32_t up = (ring.at(target) + ring.size - ring.at(node)) % ring.size;
      const bool upwards = up <= ring.size - up;
      const std::uint32_t way = upwards ? 0 : 1;
      for (std::uint32_t left = upwards ? up : ring.size - up; left > 0; --left) {
        links.push_back(LinkId{ring.first_link + node * ring.ways + way});
        node = step(ring, node, way);
      }
    }
  }

 private:
  /// All rings of one dimension.
  struct Ring {
    std::uint32_t size;
    std::uint32_t stride;      // between the numbers of neighbours
    std::uint32_t first_link;  // one for each host and way
    std::uint32_t ways;        // up and down, or the only one between two

    [[nodiscard]] std::uint32_t at(std::uint32_t node) const { return node / stride % size; }
  };

  [[nodiscard]] static std::uint32_t step(const Ring& ring, std::uint32_t node, std::uint32_t way) {
    const std::uint32_t at = ring.at(node);
    const std::uint32_t next = (at + (way == 0 ? 1 : ring.size - 1)) % ring.size;
    return node - at * ring.stride + next * ring.stride;
  }

  std::vector<Ring> rings_;
  std::uint32_t hosts_ = 1, links_ = 0;
  double bytes_per_s_;
};

}  // namespace

Result<std::unique_ptr<Fabric>> make_fabric(const Torus& torus) {
  if (torus.dimensions.empty() || torus.dimensions.size() > most_dimensions ||
      *std::min_element(torus.dimensions.begin(), torus.dimensions.end()) < 2) {
    return fail(bad_generator("the torus has no such dimensions",
                              fmt::format("1 to {} sizes of 2 or more", most_dimensions)));
  }
  if (!is_bandwidth(torus.bytes_per_s)) return fail(bad_generator("bandwidth out of range"));
  std::uint64_t hosts = 1;
  for (const std::uint32_t size : torus.dimensions)
    hosts = bounded_product(hosts, size);
  if (hosts > most_hosts) {
    return fail(
        bad_generator("the torus is too large", fmt::format("at most {} hosts", most_hosts)));
  }
  return std::make_unique<TorusFabric>(torus);
}

}  // namespace flowplan::flow
