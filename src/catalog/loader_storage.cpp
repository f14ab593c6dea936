#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "loader.hpp"

namespace flowplan::catalog {

namespace {

template <class T>
T& storage_entry(std::vector<T>& all, const std::string& id) {
  const auto found = std::find_if(all.begin(), all.end(), [&](const T& t) { return t.id == id; });
  if (found != all.end()) return *found;
  all.emplace_back().id = id;
  return all.back();
}

}  // namespace

void Loader::lay_storage(EntryReader& in, const std::string& id, const std::string& pointer) {
  const auto& entry = in.at(pointer);
  const bool fresh = !catalog_.storage_names_.has_id(id);
  StorageService& service = storage_entry(catalog_.storage_, id);
  catalog_.storage_names_.add_id(id);
  const std::string kind = in.text(entry, pointer, "kind", fresh);
  if (const auto found = find_storage_kind(kind)) {
    service.kind = *found;
  } else if (!kind.empty()) {
    in.report(child_pointer(pointer, "kind"), fmt::format("`{}` is no kind of storage", kind),
              "lustre, object, block, file, local or memory");
  }
  if (fresh || entry.contains("name")) service.name = in.text(entry, pointer, "name");
  if (entry.contains("notes")) service.notes = in.texts(entry, pointer, "notes");
  in.read_facts(entry, pointer, service.facts);
  for (const std::string& fault : faults_of(service))
    in.report(pointer, fmt::format("{}: {}", id, fault));
}

void Loader::lay_loader(EntryReader& in, const std::string& id, const std::string& pointer) {
  const auto& entry = in.at(pointer);
  DataLoader& loader = storage_entry(catalog_.data_loaders_, id);
  if (entry.contains("name")) loader.name = in.text(entry, pointer, "name");
  if (entry.contains("notes")) loader.notes = in.texts(entry, pointer, "notes");
  in.read_facts(entry, pointer, loader.facts);
  for (const Fact& fact : loader.facts) {
    if (fact.figure.known && fact.figure.value <= 0.0)
      in.report(pointer, fmt::format("{}: `{}` is {}, expected more than 0", id, fact.name,
                                     fact.figure.value));
  }
}

void Loader::lay_storage_price(EntryReader& in, const std::string&, const std::string& pointer) {
  const auto& entry = in.at(pointer);
  StoragePrice price;
  price.service = in.text(entry, pointer, "service");
  price.item = in.text(entry, pointer, "item");
  price.region = in.text(entry, pointer, "region");
  price.as_of = in.text(entry, pointer, "as_of");
  price.source = {in.text(entry, pointer, "source"), in.text(entry, pointer, "confidence", false),
                  in.text(entry, pointer, "note", false)};
  const auto usd = entry.find("usd");
  if (usd == entry.end() || !usd->is_number() || usd->get<double>() <= 0.0)
    return in.report(pointer, "`usd`: expected a number above 0");
  price.usd = Usd(usd->get<double>());
  if (!catalog_.storage_names_.has_id(price.service))
    in.report(pointer,
              fmt::format("a price of {} is for an unknown storage service `{}`", price.as_of,
                          price.service),
              suggest(price.service, catalog_.storage_names_.ids()));
  note_date(price.as_of);
  std::erase_if(catalog_.storage_prices_, [&](const StoragePrice& p) {
    return p.service == price.service && p.item == price.item && p.region == price.region &&
           p.as_of == price.as_of;
  });
  catalog_.storage_prices_.push_back(std::move(price));
}

}  // namespace flowplan::catalog
