#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "flowplan/base/quantity.hpp"
#include "flowplan/base/result.hpp"
#include "flowplan/catalog/catalog.hpp"

namespace flowplan::catalog {

/// A figure on which EC2 and the catalog differ.
struct FigureDifference {
  std::string figure;
  double catalog = 0.0, ec2 = 0.0;
  bool kept = false;  ///< the catalog's stands: it knows better what is usable
};

/// An instance type of a DescribeInstanceTypes answer.
struct ImportedType {
  std::string id;
  std::string gpu;   ///< id in the catalog
  std::string like;  ///< entry from which the rest was taken; empty: the catalog has this type
  std::size_t figures = 0;         ///< that the answer gives
  std::vector<std::string> taken;  ///< figures taken from `like`
  std::vector<FigureDifference> differences;
};

/// A type that gives no entry, and why.
struct RefusedType {
  std::string id, reason;
};

/// An offer of DescribeCapacityBlockOfferings.
struct BlockOffering {
  std::string id, instance, zone, start, end;  ///< dates as given
  int units = 0;                               ///< instances, or UltraServers
  double hours = 0.0;
  Usd upfront{};
  Usd per_unit_hour{};
};

/// A reservation of DescribeCapacityReservations.
struct Reservation {
  std::string id, instance, zone, state, kind, start, end;  ///< kind: "default", "capacity-block"
  int total = 0, available = 0;
};

struct Ec2Import {
  std::vector<ImportedType> types;
  std::vector<RefusedType> refused;
  std::vector<BlockOffering> offerings;
  std::vector<Reservation> reservations;
  /// What `Catalog::load` takes as an overlay: instances, or prices of Capacity Blocks (the
  /// cheapest offer an hour of each type, region and start). Empty when there is nothing to lay
  /// over.
  std::string overlay;
};

/// Reads what the AWS CLI prints for describe-instance-types, describe-capacity-block-offerings or
/// describe-capacity-reservations (JSON). Of a type that the catalog has, the answer's figures
/// replace the catalog's, but for bandwidth and GPU memory, of which EC2 prints what is nominal. Of
/// another one with a GPU of the catalog, what EC2 does not say is taken from the entry of that GPU
/// nearest to it, each figure marked so; types whose GPU the catalog does not have are refused.
/// Errors: FP016 for another file, FP021 and FP022 for entries without what they must have, those
/// of JsonDocument.
[[nodiscard]] Result<Ec2Import> import_ec2(const Catalog& catalog, std::string text,
                                           const std::string& file);

}  // namespace flowplan::catalog
