#include <optional>
#include <string>

#include "command.hpp"
#include "flowplan/catalog/compare.hpp"
#include "flowplan/report/catalog.hpp"

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

int list(const Arguments& arguments, Session& session) {
  const auto catalog = load_catalog(arguments, session);
  if (!catalog) return refuse(session, catalog.error());
  const CatalogPart part = part_of(arguments.value("kind"));
  return emit(arguments, session,
              renderings(session, [&] { return report::catalog_list(*catalog, part); },
                         {{"json", [&] { return report::catalog_list_json(*catalog, part); }}}),
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
            {"instances", "gpus", "models", "storage", "prices", "constants"}},
           format_option(),
           output_option(),
           catalog_option()},
          {{"catalog list --kind instances", "All instance types and UltraServers"}},
          list};
}

Command catalog_show_command() {
  return {"catalog show",
          "Show everything that is known of one entry, with sources.",
          "",
          {{"NAME", "An instance, GPU, model or set of constants.", 1, 1}},
          {format_option(), output_option(), catalog_option()},
          {{"catalog show p5.48xlarge", "An instance type"}},
          show};
}

Command catalog_compare_command() {
  return {"catalog compare",
          "Show two entries side by side.",
          "",
          {{"A", "The first entry.", 1, 1}, {"B", "The second one.", 1, 1}},
          {format_option(), output_option(), catalog_option()},
          {{"catalog compare p5.48xlarge p6-b200.48xlarge", "Two instance types"}},
          compare_entries};
}

}  // namespace flowplan::cli
