#include "flowplan/report/catalog.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "flowplan/report/format.hpp"
#include "json_format.hpp"

namespace flowplan::report {

namespace {

using catalog::Catalog;
using catalog::Fact;
using catalog::Figure;
std::string shown(const Figure& figure) {
  return figure.known ? exact(figure.value) : "?";
}

std::string shown(const Fact& fact) {
  if (fact.is_flag) return fact.figure.value != 0.0 ? "yes" : "no";
  if (!fact.text.empty()) return fact.text;
  return fact.figure.known ? exact(fact.figure.value) : "not found";
}

/// Too long for a column.
bool is_long(const std::string& text) {
  constexpr std::size_t column = 24;
  return text.size() > column;
}

bool wants(CatalogPart wanted, CatalogPart part) {
  return wanted == CatalogPart::all || wanted == part;
}

Section instances(const Catalog& catalog) {
  Section section{"Instances, UltraServers, reference systems",
                  {},
                  Table{{{"id", false},
                         {"kind", false},
                         {"GPUs"},
                         {"GPU", false},
                         {"memory, GiB a GPU"},
                         {"NVLink domain, GPUs"},
                         {"network, Gbit/s a unit"},
                         {"fabric", false}},
                        {}},
                  {}};
  for (const catalog::Instance& one : catalog.instances()) {
    section.table->rows.push_back({one.id, std::string(name(one.kind)), grouped(one.gpus), one.gpu,
                                   gib(one.hbm_per_gpu()), grouped(one.nvlink_domain_gpus),
                                   shown(one.efa_gbps_total), one.fabric});
  }
  return section;
}

Figure tflops(const catalog::Gpu& gpu, model::Precision precision) {
  const auto found = gpu.dense_tflops.find(precision);
  return found == gpu.dense_tflops.end() ? Figure{} : found->second;
}

Section gpus(const Catalog& catalog) {
  Section section{"GPUs",
                  {},
                  Table{{{"id", false},
                         {"SMs"},
                         {"memory, GB"},
                         {"memory, GB/s"},
                         {"bf16, dense TFLOP/s"},
                         {"fp8, dense TFLOP/s"},
                         {"NVLink, GB/s one way"},
                         {"TDP, W"}},
                        {}},
                  {}};
  for (const catalog::Gpu& one : catalog.gpus()) {
    section.table->rows.push_back(
        {one.id, shown(one.sm_count), shown(one.hbm_gb), shown(one.hbm_gbytes_per_s),
         shown(tflops(one, model::Precision::bf16)), shown(tflops(one, model::Precision::fp8)),
         shown(one.nvlink_gbytes_per_s), shown(one.tdp_w)});
  }
  return section;
}

Section models(const Catalog& catalog) {
  Section section{"Models",
                  {},
                  Table{{{"id", false},
                         {"parameters"},
                         {"active"},
                         {"layers"},
                         {"hidden"},
                         {"heads"},
                         {"context"}},
                        {}},
                  {}};
  for (const model::Transformer& one : catalog.transformers()) {
    const model::Parameters parameters = model::count_parameters(one);
    section.table->rows.push_back({one.name, short_count(parameters.total),
                                   short_count(parameters.active), grouped(one.layers),
                                   grouped(one.hidden), grouped(one.heads),
                                   one.context > 0 ? grouped(one.context) : "?"});
  }
  return section;
}

/// What a service of its kind is chosen by.
std::string storage_rate(const catalog::StorageService& service) {
  const auto figure = [&](const char* name) { return service.figure(name); };
  if (const Figure disk = figure("disk_read_mib_per_s_per_tib"); disk.known)
    return significant(disk.value) + " MiB/s per TiB";
  if (const Figure step = figure("throughput_step_mib_per_s"); step.known)
    return "steps of " + significant(step.value) + " MiB/s";
  if (const Figure get = figure("get_per_s_per_prefix"); get.known)
    return significant(get.value) + " GET/s a prefix";
  if (const Figure volume = figure("volume_mib_per_s"); volume.known)
    return significant(volume.value) + " MiB/s a volume";
  if (const Figure client = figure("client_mib_per_s"); client.known)
    return significant(client.value) + " MiB/s a client";
  return "that of the instance";
}

Section storage_services(const Catalog& catalog) {
  Section section{
      "Storage",
      {},
      Table{{{"id", false}, {"kind", false}, {"rate", false}, {"EFA", false}, {"name", false}}, {}},
      {}};
  for (const catalog::StorageService& one : catalog.storage_services()) {
    section.table->rows.push_back({one.id, std::string(catalog::name(one.kind)), storage_rate(one),
                                   one.get("efa", 0.0) != 0.0 ? "yes" : "no", one.name});
  }
  return section;
}

Section prices(const Catalog& catalog) {
  Section section{"List prices",
                  {},
                  Table{{{"instance", false},
                         {"purchase", false},
                         {"USD/h"},
                         {"region", false},
                         {"as of", false}},
                        {}},
                  {}};
  for (const catalog::Instance& instance : catalog.instances()) {
    for (const catalog::Price& price : catalog.prices(instance.id)) {
      section.table->rows.push_back({instance.id, price.purchase,
                                     significant(price.per_hour.value(), 5), price.region,
                                     price.as_of});
    }
  }
  return section;
}

Section constants(const ConstantsSets& sets) {
  Section section{"Sets of constants",
                  {},
                  Table{{{"id", false}, {"kind", false}, {"figures"}, {"about", false}}, {}},
                  {}};
  for (const catalog::Constants* one : sets) {
    section.table->rows.push_back({one->id(), one->kind(),
                                   grouped(static_cast<std::int64_t>(one->entries().size())),
                                   one->about()});
  }
  return section;
}

Json figure_json(const Figure& figure) {
  return figure.known ? Json(figure.value) : Json(nullptr);
}

Json fact_json(const Fact& fact) {
  Json json{{"name", fact.name}};
  if (fact.is_flag) {
    json["value"] = fact.figure.value != 0.0;
  } else if (!fact.text.empty()) {
    json["value"] = fact.text;
  } else {
    json["value"] = figure_json(fact.figure);
  }
  json["unit"] = catalog::unit_of(fact.name);
  json["source"] = fact.figure.source.text;
  json["confidence"] = fact.figure.source.confidence;
  if (!fact.figure.source.note.empty()) json["note"] = fact.figure.source.note;
  return json;
}

}  // namespace

Document catalog_list(const Catalog& catalog, const ConstantsSets& sets, CatalogPart part) {
  Document document{"", fmt::format("Catalog {}", catalog.version()), {}};
  if (wants(part, CatalogPart::instances)) document.sections.push_back(instances(catalog));
  if (wants(part, CatalogPart::gpus)) document.sections.push_back(gpus(catalog));
  if (wants(part, CatalogPart::models)) document.sections.push_back(models(catalog));
  if (wants(part, CatalogPart::storage)) document.sections.push_back(storage_services(catalog));
  if (wants(part, CatalogPart::prices)) document.sections.push_back(prices(catalog));
  if (wants(part, CatalogPart::constants)) document.sections.push_back(constants(sets));
  return document;
}

std::string catalog_list_json(const Catalog& catalog, const ConstantsSets& sets, CatalogPart part) {
  Json json{{"format_version", result_format_version},
            {"kind", "catalog"},
            {"version", catalog.version()}};
  if (wants(part, CatalogPart::instances)) {
    Json list = Json::array();
    for (const catalog::Instance& one : catalog.instances()) {
      list.push_back({{"id", one.id},
                      {"kind", name(one.kind)},
                      {"gpu", one.gpu},
                      {"gpus", one.gpus},
                      {"hbm_bytes_per_gpu", one.hbm_per_gpu().value()},
                      {"nvlink_domain_gpus", one.nvlink_domain_gpus},
                      {"efa_gbps_total", figure_json(one.efa_gbps_total)},
                      {"fabric", one.fabric},
                      {"unknown", one.unknown}});
    }
    json["instances"] = std::move(list);
  }
  if (wants(part, CatalogPart::gpus)) {
    Json list = Json::array();
    for (const catalog::Gpu& one : catalog.gpus()) {
      list.push_back({{"id", one.id},
                      {"hbm_gb", figure_json(one.hbm_gb)},
                      {"hbm_gbytes_per_s", figure_json(one.hbm_gbytes_per_s)},
                      {"bf16_dense_tflops", figure_json(tflops(one, model::Precision::bf16))},
                      {"fp8_dense_tflops", figure_json(tflops(one, model::Precision::fp8))},
                      {"nvlink_gbytes_per_s", figure_json(one.nvlink_gbytes_per_s)}});
    }
    json["gpus"] = std::move(list);
  }
  if (wants(part, CatalogPart::models)) {
    Json list = Json::array();
    for (const model::Transformer& one : catalog.transformers()) {
      const model::Parameters parameters = model::count_parameters(one);
      list.push_back({{"id", one.name},
                      {"parameters", parameters.total},
                      {"active_parameters", parameters.active},
                      {"layers", one.layers},
                      {"hidden", one.hidden}});
    }
    json["models"] = std::move(list);
  }
  if (wants(part, CatalogPart::storage)) {
    Json list = Json::array();
    for (const catalog::StorageService& one : catalog.storage_services()) {
      list.push_back({{"id", one.id},
                      {"kind", catalog::name(one.kind)},
                      {"name", one.name},
                      {"efa", one.get("efa", 0.0) != 0.0}});
    }
    json["storage"] = std::move(list);
    Json loaders = Json::array();
    for (const catalog::DataLoader& one : catalog.data_loaders())
      loaders.push_back({{"id", one.id}, {"name", one.name}});
    json["loaders"] = std::move(loaders);
  }
  if (wants(part, CatalogPart::prices)) {
    Json list = Json::array();
    for (const catalog::Instance& instance : catalog.instances()) {
      for (const catalog::Price& price : catalog.prices(instance.id)) {
        list.push_back({{"instance", instance.id},
                        {"purchase", price.purchase},
                        {"usd_per_hour", price.per_hour.value()},
                        {"region", price.region},
                        {"as_of", price.as_of},
                        {"source", price.source.text}});
      }
    }
    json["prices"] = std::move(list);
  }
  if (wants(part, CatalogPart::constants)) {
    Json list = Json::array();
    for (const catalog::Constants* one : sets)
      list.push_back({{"id", one->id()}, {"kind", one->kind()}, {"about", one->about()}});
    json["constants"] = std::move(list);
  }
  return json.dump(2) + "\n";
}

Document catalog_sheet(const catalog::Sheet& sheet) {
  Section section{
      "",
      {},
      Table{
          {{"figure", false}, {"value"}, {"unit", false}, {"confidence", false}, {"source", false}},
          {}},
      {}};
  for (const Fact& fact : sheet.facts) {
    const std::string value = shown(fact);
    if (is_long(value)) section.remarks.push_back(fmt::format("{}: {}", fact.name, value));
    section.table->rows.push_back({fact.name, is_long(value) ? "see below" : value,
                                   std::string(catalog::unit_of(fact.name)),
                                   fact.figure.source.confidence, fact.figure.source.text});
  }
  section.remarks.insert(section.remarks.end(), sheet.notes.begin(), sheet.notes.end());
  return {sheet.id,
          sheet.name.empty() ? sheet.kind : fmt::format("{}: {}", sheet.kind, sheet.name),
          {std::move(section)}};
}

std::string catalog_sheet_json(const catalog::Sheet& sheet) {
  Json facts = Json::array();
  for (const Fact& fact : sheet.facts)
    facts.push_back(fact_json(fact));
  const Json json{{"format_version", result_format_version},
                  {"kind", "catalog_entry"},
                  {"id", sheet.id},
                  {"entry_kind", sheet.kind},
                  {"name", sheet.name},
                  {"facts", std::move(facts)},
                  {"notes", sheet.notes}};
  return json.dump(2) + "\n";
}

Document catalog_comparison(const catalog::Comparison& comparison) {
  Section section{"",
                  {},
                  Table{{{"figure", false},
                         {comparison.a.id},
                         {comparison.b.id},
                         {"x"},
                         {"unit", false},
                         {"", false}},
                        {}},
                  {}};
  for (const catalog::Compared& one : comparison.figures) {
    const bool numbers = one.a && one.b && one.a->figure.known && one.b->figure.known &&
                         one.a->text.empty() && one.b->text.empty() && !one.a->is_flag &&
                         one.a->figure.value != 0.0;
    const std::string a = one.a ? shown(*one.a) : "-";
    const std::string b = one.b ? shown(*one.b) : "-";
    if (is_long(a) || is_long(b)) {
      section.remarks.push_back(one.same ? fmt::format("{}, both: {}", one.name, a)
                                         : fmt::format("{}: {} | {}", one.name, a, b));
      continue;
    }
    section.table->rows.push_back(
        {one.name, a, b, numbers ? significant(one.b->figure.value / one.a->figure.value, 3) : "",
         one.unit, one.same ? "same" : ""});
  }
  return {fmt::format("{} against {}", comparison.a.id, comparison.b.id), "", {std::move(section)}};
}

std::string catalog_comparison_json(const catalog::Comparison& comparison) {
  Json figures = Json::array();
  for (const catalog::Compared& one : comparison.figures) {
    figures.push_back({{"name", one.name},
                       {"unit", one.unit},
                       {"a", one.a ? fact_json(*one.a) : Json(nullptr)},
                       {"b", one.b ? fact_json(*one.b) : Json(nullptr)},
                       {"same", one.same}});
  }
  const Json json{{"format_version", result_format_version},
                  {"kind", "catalog_comparison"},
                  {"a", comparison.a.id},
                  {"b", comparison.b.id},
                  {"figures", std::move(figures)}};
  return json.dump(2) + "\n";
}

}  // namespace flowplan::report
