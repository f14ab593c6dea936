#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "command.hpp"
#include "flowplan/base/text_file.hpp"
#include "flowplan/catalog/compare.hpp"
#include "flowplan/catalog/import_ec2.hpp"
#include "flowplan/report/catalog.hpp"
#include "flowplan/report/ec2_import.hpp"

namespace flowplan::cli {

namespace {

using report::CatalogPart;

CatalogPart part_of(const std::optional<std::string>& kind) {
  if (kind == "instances") return CatalogPart::instances;
  if (kind == "gpus") return CatalogPart::gpus;
  if (kind == "models") return CatalogPart::models;
  if (kind == "storage") return CatalogPart::storage;
  if (kind == "prices") return CatalogPart::prices;
  if (kind == "constants") return CatalogPart::constants;
  return CatalogPart::all;
}

/// The ids that --kind lists, one a line: what other options take, and what shells offer.
std::string names_in(const catalog::Catalog& catalog, CatalogPart part) {
  std::string text;
  const auto add = [&](CatalogPart of, const auto& entries) {
    const bool priced = part == CatalogPart::prices && of == CatalogPart::instances;
    if (part != CatalogPart::all && part != of && !priced) return;
    for (const auto& entry : entries)
      text += entry.id + "\n";
  };
  add(CatalogPart::instances, catalog.instances());
  add(CatalogPart::gpus, catalog.gpus());
  add(CatalogPart::models, catalog.models());
  add(CatalogPart::storage, catalog.storage_services());
  if (part == CatalogPart::all || part == CatalogPart::constants)
    for (const std::string& id : catalog.constants_ids())
      text += id + "\n";
  return text;
}

int list(const Arguments& arguments, Session& session) {
  const auto catalog = load_catalog(arguments, session);
  if (!catalog) return refuse(session, catalog.error());
  const auto sets = catalog->all_constants();
  if (!sets) return refuse(session, sets.error());
  const CatalogPart part = part_of(arguments.value("kind"));
  return emit(
      arguments, session,
      renderings(session, [&] { return report::catalog_list(*catalog, *sets, part); },
                 {{"json", [&] { return report::catalog_list_json(*catalog, *sets, part); }},
                  {"names", [&] { return names_in(*catalog, part); }}}),
      0);
}

int show(const Arguments& arguments, Session& session) {
  const auto catalog = load_catalog(arguments, session);
  if (!catalog) return refuse(session, catalog.error());
  const auto sheet = catalog::sheet(*catalog, arguments.positionals[0]);
  if (!sheet) return refuse(session, sheet.error());
  return emit(arguments, session,
              renderings(session, [&] { return report::catalog_sheet(*sheet); },
                         {{"json", [&] { return report::catalog_sheet_json(*sheet); }}}),
              0);
}

int compare_entries(const Arguments& arguments, Session& session) {
  const auto catalog = load_catalog(arguments, session);
  if (!catalog) return refuse(session, catalog.error());
  const auto comparison =
      catalog::compare(*catalog, arguments.positionals[0], arguments.positionals[1]);
  if (!comparison) return refuse(session, comparison.error());
  return emit(arguments, session,
              renderings(session, [&] { return report::catalog_comparison(*comparison); },
                         {{"json", [&] { return report::catalog_comparison_json(*comparison); }}}),
              0);
}

constexpr std::size_t largest_answer = std::size_t{64} << 20;

int import_answer(const Arguments& arguments, Session& session) {
  const auto catalog = load_catalog(arguments, session);
  if (!catalog) return refuse(session, catalog.error());
  const std::string& path = arguments.positionals[0];
  const std::string file = path == "-" ? "<stdin>" : path;
  auto text = read_text(path, largest_answer);
  if (!text) return refuse(session, text.error());
  const auto import = catalog::import_ec2(*catalog, std::move(*text), file);
  if (!import) return refuse(session, import.error());
  std::vector<Rendering> shown =
      renderings(session, [&] { return report::ec2_import(*import, file); },
                 {{"json", [&] { return report::ec2_import_json(*import, file); }}});
  if (!import->overlay.empty()) {
    shown.push_back({"overlay", [&] { return import->overlay; }});
  } else if (import->reservations.empty()) {
    Diagnostics faults;
    for (const catalog::RefusedType& one : import->refused)
      faults.push_back(error(Code::unknown_name, {file, 0, 0, "", ""}, one.id + ": " + one.reason));
    if (faults.empty())
      faults.push_back(
          error(Code::value_out_of_range, {file, 0, 0, "", ""}, "the answer lists nothing"));
    return refuse(session, faults);
  }
  return emit(arguments, session, shown, 0);
}

}  // namespace

Command catalog_list_command() {
  return {"catalog list",
          "List what the catalog holds: instances, GPUs, models, storage, prices, constants.",
          "",
          {},
          {{"kind",
            0,
            "KIND",
            "Only one kind.",
            false,
            {"all", "instances", "gpus", "models", "storage", "prices", "constants"}},
           format_option({"text", "markdown", "json", "names", "html", "csv"}),
           output_option({"text", "markdown", "json", "names", "html", "csv"}),
           catalog_option()},
          {{"catalog list --kind instances", "All instance types and UltraServers"},
           {"catalog list --kind models --format names", "The models' names alone, one a line"}},
          list};
}

Command catalog_show_command() {
  return {"catalog show",
          "Show everything that is known of one entry, with sources.",
          "",
          {{"ENTRY", "An instance, GPU, model or set of constants.", 1, 1}},
          {format_option(), output_option(), catalog_option()},
          {{"catalog show p5.48xlarge", "An instance type"}},
          show};
}

Command catalog_import_command() {
  return {"catalog import",
          "Read instance types, offers or reservations from EC2's answers.",
          "Takes the JSON that aws ec2 describe-instance-types, "
          "describe-capacity-block-offerings or describe-capacity-reservations prints. "
          "-o overlay=FILE writes entries that --catalog FILE lays over the catalog; what EC2 does "
          "not say of a new type is taken from the entry of the same GPU, each figure marked so.",
          {{"FILE", "The answer; - is standard input.", 1, 1}},
          {format_option({"text", "markdown", "json", "overlay"}),
           output_option({"text", "markdown", "json", "overlay"}), catalog_option()},
          {{"catalog import types.json -o overlay=ours.json", "Instance types, as an overlay"},
           {"catalog import offers.json --format overlay", "Prices of Capacity Blocks on offer"}},
          import_answer};
}

Command catalog_compare_command() {
  return {"catalog compare",
          "Show two entries side by side.",
          "",
          {{"ENTRY", "The first one.", 1, 1}, {"OTHER", "The second one.", 1, 1}},
          {format_option(), output_option(), catalog_option()},
          {{"catalog compare p5.48xlarge p6-b200.48xlarge", "Two instance types"}},
          compare_entries};
}

}  // namespace flowplan::cli
