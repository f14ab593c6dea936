#include "flowplan/report/ec2_import.hpp"

#include <utility>

#include <fmt/format.h>

#include "flowplan/report/format.hpp"
#include "json_format.hpp"

namespace flowplan::report {

namespace {

using catalog::Ec2Import;

Section imported_types(const Ec2Import& import) {
  Section section{"Instance types",
                  {},
                  Table{{{"type", false}, {"GPU", false}, {"figures"}, {"the rest", false}}, {}},
                  {}};
  for (const catalog::ImportedType& type : import.types) {
    section.table->rows.push_back(
        {type.id, type.gpu, std::to_string(type.figures),
         type.like.empty() ? std::string("as the catalog has it")
                           : fmt::format("as {}: {}", type.like, fmt::join(type.taken, ", "))});
  }
  return section;
}

Section import_differences(const Ec2Import& import) {
  Section section{
      "Differences",
      {},
      Table{{{"type", false}, {"figure", false}, {"catalog"}, {"EC2"}, {"taken", false}}, {}},
      {}};
  for (const catalog::ImportedType& type : import.types)
    for (const catalog::FigureDifference& one : type.differences)
      section.table->rows.push_back({type.id, one.figure, exact(one.catalog), exact(one.ec2),
                                     one.kept ? "the catalog's: what is usable" : "EC2's"});
  return section;
}

Section import_offers(const Ec2Import& import) {
  Section section{"Capacity Blocks on offer",
                  {},
                  Table{{{"type", false},
                         {"units"},
                         {"hours"},
                         {"zone", false},
                         {"from", false},
                         {"up front, USD"},
                         {"USD an hour and unit"}},
                        {}},
                  {"the cheapest of each type, region and start becomes a price; plans with "
                   "--catalog buy at it"}};
  for (const catalog::BlockOffering& offer : import.offerings)
    section.table->rows.push_back({offer.instance, std::to_string(offer.units), exact(offer.hours),
                                   offer.zone, offer.start, exact(offer.upfront.value()),
                                   significant(offer.per_unit_hour.value(), 5)});
  return section;
}

Section import_reservations(const Ec2Import& import) {
  Section section{"Capacity reservations",
                  {},
                  Table{{{"type", false},
                         {"instances"},
                         {"free"},
                         {"zone", false},
                         {"kind", false},
                         {"state", false},
                         {"from", false},
                         {"to", false}},
                        {}},
                  {"--nodes of a plan on them is at most what is free; nothing is laid over the "
                   "catalog"}};
  for (const catalog::Reservation& one : import.reservations)
    section.table->rows.push_back({one.instance, std::to_string(one.total),
                                   std::to_string(one.available), one.zone, one.kind, one.state,
                                   one.start, one.end});
  return section;
}

}  // namespace

Document ec2_import(const Ec2Import& import, const std::string& file) {
  Document document{file, "", {}};
  if (!import.types.empty()) document.sections.push_back(imported_types(import));
  bool differs = false;
  for (const catalog::ImportedType& type : import.types)
    differs = differs || !type.differences.empty();
  if (differs) document.sections.push_back(import_differences(import));
  if (!import.offerings.empty()) document.sections.push_back(import_offers(import));
  if (!import.reservations.empty()) document.sections.push_back(import_reservations(import));
  if (!import.refused.empty()) {
    Section section{"Left out", {}, Table{{{"type", false}, {"why", false}}, {}}, {}};
    for (const catalog::RefusedType& one : import.refused)
      section.table->rows.push_back({one.id, one.reason});
    document.sections.push_back(std::move(section));
  }
  if (!import.overlay.empty())
    document.sections.push_back(
        {"", {}, {}, {"-o overlay=FILE writes what --catalog FILE lays over the catalog"}});
  return document;
}

std::string ec2_import_json(const Ec2Import& import, const std::string& file) {
  Json json{{"format_version", result_format_version}, {"kind", "ec2_import"}, {"file", file}};
  Json& types = json["instance_types"] = Json::array();
  for (const catalog::ImportedType& type : import.types) {
    Json differences = Json::array();
    for (const catalog::FigureDifference& one : type.differences)
      differences.push_back(
          {{"figure", one.figure}, {"catalog", one.catalog}, {"ec2", one.ec2}, {"kept", one.kept}});
    types.push_back({{"id", type.id},
                     {"gpu", type.gpu},
                     {"like", type.like.empty() ? Json(nullptr) : Json(type.like)},
                     {"taken", type.taken},
                     {"differences", std::move(differences)}});
  }
  Json& offers = json["capacity_block_offerings"] = Json::array();
  for (const catalog::BlockOffering& offer : import.offerings)
    offers.push_back({{"id", offer.id},
                      {"instance", offer.instance},
                      {"units", offer.units},
                      {"duration_s", offer.hours * hours(1).value()},
                      {"zone", offer.zone},
                      {"start", offer.start},
                      {"upfront_usd", offer.upfront.value()},
                      {"unit_hour_usd", offer.per_unit_hour.value()}});
  Json& reservations = json["capacity_reservations"] = Json::array();
  for (const catalog::Reservation& one : import.reservations)
    reservations.push_back({{"id", one.id},
                            {"instance", one.instance},
                            {"total", one.total},
                            {"available", one.available},
                            {"zone", one.zone},
                            {"kind", one.kind},
                            {"state", one.state},
                            {"start", one.start},
                            {"end", one.end}});
  Json& refused = json["left_out"] = Json::array();
  for (const catalog::RefusedType& one : import.refused)
    refused.push_back({{"id", one.id}, {"reason", one.reason}});
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace flowplan::report
