#include "flowplan/catalog/import_ec2.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "ec2_reader.hpp"

namespace flowplan::catalog {

namespace {

using Ec2Json = Ec2Reader::Json;

/// "us-gov-west-1a" is in us-gov-west-1, a Local Zone "us-east-1-dfw-2a" in us-east-1-dfw.
std::string region_of(const std::string& zone) {
  const std::size_t number = zone.find_first_of("0123456789");
  const std::size_t end = zone.find_first_not_of("0123456789", number);
  if (number == std::string::npos || end == std::string::npos || zone[end] != '-')
    return zone.substr(0, end);
  return zone.substr(0, zone.find('-', end + 1));
}

/// "2026-12-01T11:30:00+00:00" is of 2026-12-01.
std::string day_of(const std::string& time) {
  constexpr std::size_t day = 10;
  return time.substr(0, day);
}

bool is_day(const std::string& text) {
  constexpr std::string_view shape = "2000-00-00";
  if (text.size() != shape.size() || text[0] != '2' || text[1] != '0') return false;
  for (std::size_t i = 0; i < shape.size(); ++i)
    if (shape[i] == '-' ? text[i] != '-' : (text[i] < '0' || text[i] > '9')) return false;
  return true;
}

void read_offerings(const JsonDocument& document, Ec2Reader& in, Ec2Import& into) {
  const Ec2Json& list = document.root().at("CapacityBlockOfferings");
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string pointer = child_pointer("/CapacityBlockOfferings", i);
    const Ec2Json& one = list[i];
    BlockOffering offer;
    offer.id = in.text(one, pointer, "CapacityBlockOfferingId", false);
    const bool ultra = one.is_object() && one.contains("UltraserverType");
    offer.instance = in.text(one, pointer, ultra ? "UltraserverType" : "InstanceType");
    offer.zone = in.text(one, pointer, "AvailabilityZone");
    offer.start = in.text(one, pointer, "StartDate");
    offer.end = in.text(one, pointer, "EndDate", false);
    offer.units =
        static_cast<int>(in.number(one, pointer, ultra ? "UltraserverCount" : "InstanceCount"));
    offer.hours = in.number(one, pointer, "CapacityBlockDurationHours");
    offer.upfront = Usd(in.number(one, pointer, "UpfrontFee"));
    const std::string currency = in.text(one, pointer, "CurrencyCode", false);
    if (!currency.empty() && currency != "USD")
      in.complain(Code::value_not_allowed, child_pointer(pointer, "CurrencyCode"),
                  fmt::format("prices in {} are not read", currency));
    if (!offer.start.empty() && !is_day(day_of(offer.start)))
      in.complain(Code::wrong_type, child_pointer(pointer, "StartDate"),
                  fmt::format("`{}` begins with no date", offer.start));
    if (offer.units > 0 && offer.hours > 0.0 && offer.upfront > Usd(0)) {
      offer.per_unit_hour = offer.upfront / (static_cast<double>(offer.units) * offer.hours);
      into.offerings.push_back(std::move(offer));
    } else if (in.faults().empty()) {
      in.complain(Code::value_out_of_range, pointer,
                  "instances, hours and the fee of an offer are above 0");
    }
  }
}

std::string price_overlay(const Catalog& catalog, const std::string& file, Ec2Import& import) {
  using Key = std::tuple<std::string, std::string, std::string>;
  std::map<Key, const BlockOffering*> cheapest;
  for (const BlockOffering& offer : import.offerings) {
    const auto known = catalog.instance(offer.instance);
    if (!known) {
      import.refused.push_back({offer.instance, "the catalog has no such type"});
      continue;
    }
    const BlockOffering*& best =
        cheapest[{(*known)->id, region_of(offer.zone), day_of(offer.start)}];
    if (best == nullptr || offer.per_unit_hour < best->per_unit_hour) best = &offer;
  }
  if (cheapest.empty()) return {};
  Ec2Json overlay;
  overlay["prices"] = Ec2Json::array();
  for (const auto& [key, offer] : cheapest)
    overlay["prices"].push_back(
        {{"instance", std::get<0>(key)},
         {"purchase", "capacity_block"},
         {"usd_per_hour", offer->per_unit_hour.value()},
         {"region", std::get<1>(key)},
         {"as_of", std::get<2>(key)},
         {"source", fmt::format("EC2 DescribeCapacityBlockOfferings, {}", file)},
         {"confidence", "derived_from_vendor_price"},
         {"note", fmt::format("{:.2f} USD for {} x {:.0f} h from {}", offer->upfront.value(),
                              offer->units, offer->hours, offer->start)}});
  return overlay.dump(2) + "\n";
}

void read_reservations(const JsonDocument& document, Ec2Reader& in, Ec2Import& into) {
  const Ec2Json& list = document.root().at("CapacityReservations");
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string pointer = child_pointer("/CapacityReservations", i);
    const Ec2Json& one = list[i];
    Reservation made;
    made.id = in.text(one, pointer, "CapacityReservationId");
    made.instance = in.text(one, pointer, "InstanceType");
    made.zone = in.text(one, pointer, "AvailabilityZone", false);
    made.state = in.text(one, pointer, "State", false);
    made.kind = in.text(one, pointer, "ReservationType", false);
    if (made.kind.empty()) made.kind = "default";
    made.start = in.text(one, pointer, "StartDate", false);
    made.end = in.text(one, pointer, "EndDate", false);
    made.total = static_cast<int>(in.number(one, pointer, "TotalInstanceCount"));
    made.available = static_cast<int>(in.number(one, pointer, "AvailableInstanceCount", false));
    into.reservations.push_back(std::move(made));
  }
}

}  // namespace

const Ec2Json* Ec2Reader::find(const Json& object, std::initializer_list<const char*> keys) {
  const Json* at = &object;
  for (const char* key : keys) {
    if (!at->is_object() || !at->contains(key)) return nullptr;
    at = &at->at(key);
  }
  return at;
}

std::string Ec2Reader::text(const Json& object, const std::string& pointer, const char* key,
                            bool required) {
  const Json* found = find(object, {key});
  if (found == nullptr) {
    if (required) complain(Code::missing_key, pointer, fmt::format("`{}` is missing", key));
    return {};
  }
  if (found->is_string()) return found->get<std::string>();
  complain(Code::wrong_type, child_pointer(pointer, key), fmt::format("`{}`: expected text", key));
  return {};
}

double Ec2Reader::number(const Json& object, const std::string& pointer, const char* key,
                         bool required) {
  const Json* found = find(object, {key});
  if (found == nullptr) {
    if (required) complain(Code::missing_key, pointer, fmt::format("`{}` is missing", key));
    return 0.0;
  }
  constexpr double most = 1e9;
  double value = -1.0;
  if (found->is_number()) {
    value = found->get<double>();
  } else if (found->is_string()) {
    const std::string& written = found->get_ref<const std::string&>();
    const char* end = written.data() + written.size();
    if (std::from_chars(written.data(), end, value).ptr != end) value = -1.0;
  }
  if (value >= 0.0 && value <= most) return value;
  complain(Code::wrong_type, child_pointer(pointer, key),
           fmt::format("`{}`: expected a number from 0 to 1e9", key));
  return 0.0;
}

void Ec2Reader::complain(Code code, const std::string& pointer, std::string what) {
  faults_.push_back(error(code, document_.place(pointer), std::move(what)));
}

Result<Ec2Import> import_ec2(const Catalog& catalog, std::string text, const std::string& file) {
  const auto document = JsonDocument::parse(std::move(text), file);
  if (!document) return fail(document.error());
  Ec2Reader in(*document);
  Ec2Import import;
  const auto lists = [&](const char* key) {
    const Ec2Json* found = Ec2Reader::find(document->root(), {key});
    return found != nullptr && found->is_array();
  };
  if (lists("InstanceTypes")) {
    read_instance_types(catalog, *document, in, import);
  } else if (lists("CapacityBlockOfferings")) {
    read_offerings(*document, in, import);
    if (in.faults().empty()) import.overlay = price_overlay(catalog, file, import);
  } else if (lists("CapacityReservations")) {
    read_reservations(*document, in, import);
  } else {
    return fail(error(Code::wrong_kind_of_file, document->place(""),
                      "this is no answer of EC2 that can be imported",
                      "the JSON of aws ec2 describe-instance-types, "
                      "describe-capacity-block-offerings or describe-capacity-reservations"));
  }
  if (!in.faults().empty()) return fail(std::move(in.faults()));
  return import;
}

}  // namespace flowplan::catalog
