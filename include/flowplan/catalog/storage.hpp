#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "flowplan/base/quantity.hpp"
#include "flowplan/catalog/figure.hpp"

namespace flowplan::catalog {

/// What a service is decides the path of its data: a file system of many servers, objects behind
/// requests, a volume of one node, a shared file server, disks inside the nodes, their memory.
enum class StorageKind { lustre, object, block, file, local, memory };
/// "lustre", "object", ...: the enumerator.
[[nodiscard]] std::string_view name(StorageKind kind);
[[nodiscard]] std::optional<StorageKind> find_storage_kind(std::string_view name);

/// A storage service in one of its sizes or tiers.
struct StorageService {
  std::string id;    ///< "fsx-persistent2-1000", "s3", "local-nvme"
  std::string name;  ///< for people
  StorageKind kind{};
  std::vector<std::string> notes;
  std::vector<Fact> facts;  ///< every figure of the entry, in the file's order

  /// The figure of that name, or one that is not known.
  [[nodiscard]] Figure figure(std::string_view fact) const { return figure_of(facts, fact); }
  /// Its value, or `otherwise` where it is not known.
  [[nodiscard]] double get(std::string_view fact, double otherwise) const;
};

/// Software that reads or writes, with its own rate caps.
struct DataLoader {
  std::string id;    ///< "safetensors-mmap", "mountpoint"
  std::string name;  ///< for people
  std::vector<std::string> notes;
  std::vector<Fact> facts;  ///< "stream_gbytes_per_s", "streams_per_gpu", "node_gbytes_per_s"

  [[nodiscard]] Figure figure(std::string_view fact) const { return figure_of(facts, fact); }
};

/// What a service charges for one thing.
struct StoragePrice {
  std::string service;  ///< StorageService::id
  std::string item;     ///< "gb_month" (2^30 byte), "put_1000", "get_1000", ...
  Usd usd{};
  std::string region;
  std::string as_of;
  Source source;
};

/// What of the figures of a service contradicts its kind, in sentences.
[[nodiscard]] std::vector<std::string> faults_of(const StorageService& service);

}  // namespace flowplan::catalog
