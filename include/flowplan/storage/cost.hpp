#pragma once

#include <optional>
#include <string>

#include "flowplan/base/quantity.hpp"
#include "flowplan/catalog/catalog.hpp"
#include "flowplan/storage/mount.hpp"

namespace flowplan::storage {

/// Money, with the date of its price, or why it is not known.
struct Cost {
  std::optional<Usd> usd;
  std::string as_of;       ///< of the price
  std::string confidence;  ///< of the price
  std::string why_not;     ///< names what has no price in the region; empty when it is known
};

/// A month of a mount: the provisioned capacity of a file system, `stored` bytes of an object
/// store; GB are 2^30 byte there. Disks and memory of the nodes cost nothing beside them.
[[nodiscard]] Cost monthly_cost(const catalog::Catalog& catalog, const Mount& mount, Bytes stored,
                                const std::string& region);

/// Requests (and transferred bytes, where charged) to write or read so many bytes of an object
/// store once, in parts of its size.
[[nodiscard]] Cost request_cost(const catalog::Catalog& catalog, const Mount& mount, bool writes,
                                Bytes bytes, const std::string& region);

}  // namespace flowplan::storage
