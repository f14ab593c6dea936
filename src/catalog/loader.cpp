#include "loader.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>
#include <iterator>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "flowplan/base/csv_table.hpp"
#include "flowplan/base/json_schema.hpp"
#include "flowplan/base/text_file.hpp"
#include "flowplan/catalog/prices.hpp"
#include "flowplan/model/read_config.hpp"
#include "settle.hpp"

namespace flowplan::catalog {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

namespace {

constexpr std::size_t max_file_bytes = std::size_t{16} << 20;

template <class T>
T* by_id(std::vector<T>& all, std::string_view id) {
  const auto found = std::find_if(all.begin(), all.end(), [&](const T& t) { return t.id == id; });
  return found == all.end() ? nullptr : &*found;
}

template <class T>
T& get_or_add(std::vector<T>& all, const std::string& id) {
  if (T* found = by_id(all, id)) return *found;
  all.emplace_back().id = id;
  return all.back();
}

std::optional<GpuGeneration> find_generation(std::string_view name) {
  if (name == "ampere") return GpuGeneration::ampere;
  if (name == "hopper") return GpuGeneration::hopper;
  if (name == "blackwell") return GpuGeneration::blackwell;
  return std::nullopt;
}

std::optional<InstanceKind> find_kind(std::string_view wanted) {
  for (const InstanceKind kind :
       {InstanceKind::instance, InstanceKind::ultraserver, InstanceKind::reference}) {
    if (name(kind) == wanted) return kind;
  }
  return std::nullopt;
}

}  // namespace

Result<Catalog> Loader::run(const std::vector<std::string>& overlays) {
  std::error_code ignored;
  if (!fs::is_regular_file(fs::path(directory_) / "instances.json", ignored)) {
    return fail(error(Code::catalog_not_found, fmt::format("`{}` is not a catalog", directory_),
                      "a catalog is a folder with gpus.json, instances.json and so on"));
  }
  catalog_.instance_names_ = Names("instance");
  catalog_.gpu_names_ = Names("GPU");
  catalog_.network_names_ = Names("network");
  catalog_.model_names_ = Names("model", true);
  catalog_.storage_names_ = Names("storage service");
  read_base();
  for (const std::string& overlay : overlays)
    read_overlay(overlay);
  check_prices();
  add(catalog_.constants_->check_laid());
  if (!faults_.empty()) return fail(std::move(faults_));
  catalog_.version_ = fmt::format("{}/{:08x}", newest_, static_cast<std::uint32_t>(files_.value()));
  return std::move(catalog_);
}

std::optional<std::string> Loader::text_of(const std::string& path) {
  auto text = read_text(path, max_file_bytes);
  if (!text) {
    add(std::move(text.error()));
    return std::nullopt;
  }
  files_.add(*text);
  return std::move(*text);
}

std::optional<JsonDocument> Loader::parse(std::string text, const std::string& path) {
  auto document = JsonDocument::parse(std::move(text), path);
  if (!document) {
    add(std::move(document.error()));
    return std::nullopt;
  }
  return std::move(*document);
}

std::optional<JsonDocument> Loader::open(const std::string& path) {
  auto text = text_of(path);
  return text ? parse(std::move(*text), path) : std::nullopt;
}

void Loader::read_base() {
  for (const char* file : {"gpus.json", "networks.json", "instances.json", "models.json",
                           "purchase.json", "storage.json", "aliases.json"}) {
    if (const auto document = open((fs::path(directory_) / file).string())) lay(*document);
  }
  read_price_table();
  read_constants_folder();
}

void Loader::read_constants_folder() {
  std::vector<fs::path> sets;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(fs::path(directory_) / "constants", ignored)) {
    if (entry.path().extension() == ".json") sets.push_back(entry.path());
  }
  std::sort(sets.begin(), sets.end());
  for (const fs::path& path : sets)
    read_constants_file(path.string(), path.stem().string());
}

void Loader::read_constants_file(const std::string& path, const std::string& stem) {
  auto text = text_of(path);
  if (!text) return;
  if (const auto head = catalog_.constants_->put(*text, path)) {
    if (head->id == stem) return note_date(head->as_of);
  }
  const auto document = parse(std::move(*text), path);
  if (!document) return;
  EntryReader in(*document);
  const std::string id = in.text(document->root(), "", "id");
  if (!id.empty() && id != stem) {
    in.report("/id", fmt::format("a constants file is named after its id: `{}.json`", id));
  }
  lay_constants(in, id, "");
  add(in.take_faults());
}

void Loader::read_price_table() {
  const std::string path = (fs::path(directory_) / "prices.csv").string();
  auto text = read_text(path, max_file_bytes);
  if (!text) return add(std::move(text.error()));
  files_.add(*text);
  const auto table = CsvTable::parse(*text, path);
  if (!table) return add(table.error());
  auto prices = read_prices(*table);
  if (!prices) return add(std::move(prices.error()));
  catalog_.prices_ = std::move(*prices);
}

void Loader::read_overlay(const std::string& path) {
  const auto document = open(path);
  if (!document) return;
  const auto schema =
      JsonDocument::read((fs::path(directory_) / "schema" / "catalog.schema.json").string());
  if (!schema) return add(schema.error());
  Diagnostics faults = validate(*document, *schema);
  if (faults.empty()) {
    lay(*document);
  } else {
    add(std::move(faults));
  }
}

void Loader::lay(const JsonDocument& document) {
  const Json& root = document.root();
  EntryReader in(document);
  if (!root.is_object()) {
    in.report("", "expected an object with gpus, instances, models and so on");
    return add(in.take_faults());
  }
  in.use_sources(root);
  note_date(in.text(root, "", "as_of", false));

  using Lay = void (Loader::*)(EntryReader&, const std::string&, const std::string&);
  constexpr std::array<std::pair<const char*, Lay>, 8> lists{
      {{"gpus", &Loader::lay_gpu},
       {"networks", &Loader::lay_network},
       {"instances", &Loader::lay_instance},
       {"constants", &Loader::lay_constants},
       {"storage", &Loader::lay_storage},
       {"loaders", &Loader::lay_loader},
       {"prices", &Loader::lay_price},
       {"storage_prices", &Loader::lay_storage_price}}};
  for (const auto& [section, member] : lists) {
    if (!root.contains(section)) continue;
    if (!root.at(section).is_array()) {
      in.report(child_pointer("", section), fmt::format("`{}`: expected a list", section));
      continue;
    }
    std::vector<std::string> seen;
    std::size_t index = 0;
    for (const Json& entry : root.at(section)) {
      const std::string pointer = child_pointer(child_pointer("", section), index++);
      std::string id;
      if (member != &Loader::lay_price && member != &Loader::lay_storage_price) {
        id = in.text(entry, pointer, "id");
        if (id.empty()) continue;
        if (std::find(seen.begin(), seen.end(), id) != seen.end()) {
          in.report(pointer, fmt::format("`{}` stands twice in this file", id));
        }
        seen.push_back(id);
      }
      (this->*member)(in, id, pointer);
    }
  }
  if (root.contains("models")) lay_models(in);
  if (root.contains("purchase")) lay_purchase(in);
  if (root.contains("aliases")) {
    lay_aliases(in, "instances", catalog_.instance_names_);
    lay_aliases(in, "gpus", catalog_.gpu_names_);
    lay_aliases(in, "networks", catalog_.network_names_);
    lay_aliases(in, "models", catalog_.model_names_);
    lay_aliases(in, "storage", catalog_.storage_names_);
  }
  add(in.take_faults());
}

void Loader::lay_gpu(EntryReader& in, const std::string& id, const std::string& pointer) {
  const Json& entry = in.at(pointer);
  const bool fresh = by_id(catalog_.gpus_, id) == nullptr;
  Gpu& gpu = get_or_add(catalog_.gpus_, id);
  catalog_.gpu_names_.add_id(id);
  const std::string generation = in.text(entry, pointer, "generation", fresh);
  if (const auto found = find_generation(generation)) {
    gpu.generation = *found;
  } else if (!generation.empty()) {
    in.report(child_pointer(pointer, "generation"),
              fmt::format("`{}` is no generation", generation), "ampere, hopper or blackwell");
  }
  if (entry.contains("name")) gpu.name = in.text(entry, pointer, "name");
  if (fresh || entry.contains("calibration")) {
    gpu.calibration = in.text(entry, pointer, "calibration");
  }
  in.read_facts(entry, pointer, gpu.facts);
  for (const std::string& fault : settle(gpu))
    in.report(pointer, fmt::format("{}: {}", id, fault));
}

void Loader::lay_network(EntryReader& in, const std::string& id, const std::string& pointer) {
  const Json& entry = in.at(pointer);
  const bool fresh = by_id(catalog_.networks_, id) == nullptr;
  Network& network = get_or_add(catalog_.networks_, id);
  catalog_.network_names_.add_id(id);
  if (fresh || entry.contains("name")) network.name = in.text(entry, pointer, "name");
  if (entry.contains("notes")) network.notes = in.texts(entry, pointer, "notes");
  in.read_facts(entry, pointer, network.facts);
}

void Loader::lay_instance(EntryReader& in, const std::string& id, const std::string& pointer) {
  const Json& entry = in.at(pointer);
  const bool fresh = by_id(catalog_.instances_, id) == nullptr;
  Instance& instance = get_or_add(catalog_.instances_, id);
  catalog_.instance_names_.add_id(id);
  const std::string kind = in.text(entry, pointer, "kind", fresh);
  if (const auto found = find_kind(kind)) {
    instance.kind = *found;
  } else if (!kind.empty()) {
    in.report(child_pointer(pointer, "kind"), fmt::format("`{}` is no kind", kind),
              "instance, ultraserver or reference");
  }
  const auto set = [&](const char* key, std::string& member, bool required = false) {
    if (entry.contains(key) || (fresh && required)) member = in.text(entry, pointer, key);
  };
  set("gpu", instance.gpu, true);
  set("collective_profile", instance.collective_profile, true);
  set("fabric", instance.fabric, true);
  set("name", instance.name);
  set("family", instance.family);
  set("member", instance.member);
  const auto set_list = [&](const char* key, std::vector<std::string>& member) {
    if (entry.contains(key)) member = in.texts(entry, pointer, key);
  };
  set_list("only_in", instance.only_in);
  set_list("unknown", instance.unknown);
  set_list("notes", instance.notes);
  in.read_facts(entry, pointer, instance.facts);
  for (const std::string& fault : settle(instance))
    in.report(pointer, fmt::format("{}: {}", id, fault));
  check_references(in, instance, pointer);
}

void Loader::check_references(EntryReader& in, const Instance& instance,
                              const std::string& pointer) {
  if (!catalog_.gpu_names_.has_id(instance.gpu)) {
    in.report(pointer, fmt::format("{}: unknown GPU `{}`", instance.id, instance.gpu),
              suggest(instance.gpu, catalog_.gpu_names_.ids()));
  }
  if (!instance.member.empty() && !catalog_.instance_names_.has_id(instance.member)) {
    in.report(pointer, fmt::format("{}: unknown instance `{}`", instance.id, instance.member),
              suggest(instance.member, catalog_.instance_names_.ids()));
  }
}

void Loader::lay_models(EntryReader& in) {
  for (const auto& [id, entry] : in.at("/models").items()) {
    const std::string pointer = child_pointer("/models", id);
    catalog_.model_names_.add_id(id);
    ModelEntry& listed = get_or_add(catalog_.models_, id);
    if (entry.is_object()) listed.source = {in.text(entry, pointer, "source"), "config", ""};
    listed.unsupported.clear();
    std::erase_if(catalog_.transformers_,
                  [&, &name = id](const auto& m) { return m.name == name; });
    auto model = model::read_config(in.document(), pointer, id);
    if (model) {
      catalog_.transformers_.push_back(std::move(*model));
      continue;
    }
    const bool other_kind =
        std::all_of(model.error().begin(), model.error().end(),
                    [](const Diagnostic& d) { return d.code == Code::unsupported_feature; });
    if (other_kind) {
      listed.unsupported = std::move(model.error());
    } else {
      add(std::move(model.error()));
    }
  }
}

void Loader::lay_price(EntryReader& in, const std::string&, const std::string& pointer) {
  const Json& entry = in.at(pointer);
  const auto text = [&](const char* key, bool required = true) {
    return in.text(entry, pointer, key, required);
  };
  Price price;
  price.instance = text("instance");
  price.purchase = text("purchase");
  price.region = text("region");
  price.as_of = text("as_of");
  price.source = {text("source"), text("confidence", false), text("note", false)};
  const auto usd = entry.find("usd_per_hour");
  if (usd == entry.end() || !usd->is_number() || usd->get<double>() <= 0.0) {
    return in.report(pointer, "`usd_per_hour`: expected a number above 0");
  }
  price.per_hour = Usd(usd->get<double>());
  std::erase_if(catalog_.prices_, [&](const Price& p) {
    return p.instance == price.instance && p.purchase == price.purchase &&
           p.region == price.region && p.as_of == price.as_of;
  });
  catalog_.prices_.push_back(std::move(price));
}

void Loader::lay_purchase(EntryReader& in) {
  const std::string pointer = "/purchase";
  const Json& entry = in.at(pointer);
  PurchaseRules& rules = catalog_.purchase_;
  in.read_facts(entry, pointer, rules.facts);
  if (entry.contains("sold_as")) {
    for (const auto& [purchase, unused] : entry.at("sold_as").items()) {
      std::vector<std::string> sold =
          in.texts(entry.at("sold_as"), child_pointer(pointer, "sold_as"), purchase.c_str());
      std::erase_if(rules.sold_as,
                    [&, &name = purchase](const SoldAs& s) { return s.purchase == name; });
      rules.sold_as.push_back({purchase, std::move(sold)});
    }
  }
  if (!entry.contains("rules")) return;
  std::size_t index = 0;
  for (const Json& rule : entry.at("rules")) {
    const std::string below = child_pointer(child_pointer(pointer, "rules"), index++);
    rules.rules.push_back({in.text(rule, below, "id"), in.text(rule, below, "purchase"),
                           in.text(rule, below, "text"),
                           in.source(in.text(rule, below, "source"), below)});
  }
}

void Loader::lay_constants(EntryReader& in, const std::string& id, const std::string& pointer) {
  if (id.empty()) return;
  note_date(in.text(in.at(pointer), pointer, "as_of", false));
  catalog_.constants_->lay(in, id, pointer);
}

void Loader::lay_aliases(EntryReader& in, const char* section, Names& names) {
  const Json& all = in.at("/aliases");
  if (!all.is_object() || !all.contains(section)) return;
  const std::string below = child_pointer("/aliases", section);
  for (const auto& [alias, meaning] : all.at(section).items()) {
    std::vector<std::string> ids;
    if (meaning.is_array()) {
      ids = in.texts(all.at(section), below, alias.c_str());
    } else {
      ids.push_back(in.text(all.at(section), below, alias.c_str()));
    }
    for (const std::string& id : ids) {
      if (names.has_id(id)) continue;
      in.report(child_pointer(below, alias),
                fmt::format("alias `{}` means an unknown entry `{}`", alias, id),
                suggest(id, names.ids()));
    }
    names.add_alias(alias, std::move(ids));
  }
}

void Loader::check_prices() {
  for (const Price& price : catalog_.prices_) {
    note_date(price.as_of);
    if (catalog_.instance_names_.has_id(price.instance)) continue;
    add({error(
        Code::catalog_invalid,
        fmt::format("a price of {} is for an unknown instance `{}`", price.as_of, price.instance),
        suggest(price.instance, catalog_.instance_names_.ids()))});
  }
}

void Loader::add(Diagnostics faults) {
  std::move(faults.begin(), faults.end(), std::back_inserter(faults_));
}

void Loader::note_date(const std::string& date) {
  if (date > newest_) newest_ = date;
}

}  // namespace flowplan::catalog
