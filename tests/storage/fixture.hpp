#pragma once

#include <string>

#include <catch2/catch.hpp>

#include "flowplan/catalog/catalog.hpp"
#include "flowplan/storage/checkpoint.hpp"
#include "flowplan/storage/mount.hpp"
#include "flowplan/storage/path.hpp"
#include "flowplan/storage/transfer.hpp"
#include "flowplan/topology/cluster.hpp"

namespace flowplan::storage {

/// The project's own catalog, read once.
inline const catalog::Catalog& our_catalog() {
  static const Result<catalog::Catalog> loaded =
      catalog::Catalog::load(FLOWPLAN_SOURCE_DIR "/catalogs");
  INFO((loaded ? std::string() : render(loaded.error())));
  REQUIRE(loaded.has_value());
  return *loaded;
}

inline Clients clients(const std::string& instance, int count) {
  topology::ClusterSpec spec;
  spec.instance = *our_catalog().instance(instance);
  spec.count = count;
  const auto cluster = topology::Cluster::build(our_catalog(), spec);
  INFO((cluster ? std::string() : render(cluster.error())));
  REQUIRE(cluster.has_value());
  const auto found = clients_of(our_catalog(), *cluster);
  REQUIRE(found.has_value());
  return *found;
}

inline const catalog::StorageService& service(const std::string& name) {
  const auto found = our_catalog().storage(name);
  INFO((found ? std::string() : render(found.error())));
  REQUIRE(found.has_value());
  return **found;
}

inline Mount lustre(const std::string& name, double gib, Access access = Access::efa) {
  Mount mount;
  mount.service = &service(name);
  mount.capacity = gibibytes(gib);
  mount.access = access;
  return mount;
}

inline Mount store(const std::string& name) {
  Mount mount;
  mount.service = &service(name);
  return mount;
}

inline const catalog::DataLoader* loader(const std::string& id) {
  const auto found = our_catalog().data_loader(id);
  REQUIRE(found.has_value());
  return *found;
}

/// Moves so many bytes a node along the path of a pattern.
inline Transfer moved(const Clients& who, const Mount& mount, const Pattern& pattern,
                      Bytes per_node) {
  auto found = path(who, mount, pattern);
  INFO((found ? std::string() : render(found.error())));
  REQUIRE(found.has_value());
  return run_alone({"test", std::move(*found), who.nodes, per_node});
}

inline Pattern write_pattern() {
  Pattern pattern;
  pattern.direction = Direction::write;
  return pattern;
}

}  // namespace flowplan::storage
