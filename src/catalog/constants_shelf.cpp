#include "constants_shelf.hpp"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "flowplan/base/json_document.hpp"

namespace flowplan::catalog {

using Json = nlohmann::ordered_json;

namespace {

KindRules read_rules(const std::string& kind, const std::string& directory, Diagnostics& faults) {
  KindRules rules;
  const auto path =
      std::filesystem::path(directory) / "schema" / fmt::format("constants-{}.schema.json", kind);
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return rules;
  const auto document = JsonDocument::read(path.string());
  if (!document) {
    faults.insert(faults.end(), document.error().begin(), document.error().end());
    return rules;
  }
  const Json::json_pointer figures("/properties/figures");
  if (!document->root().contains(figures)) return rules;
  const Json& schema = document->root().at(figures);
  if (schema.contains("required")) {
    for (const Json& name : schema.at("required"))
      rules.required.push_back(name.get<std::string>());
  }
  rules.allowed = rules.required;
  if (schema.contains("properties")) {
    for (const auto& [name, unused] : schema.at("properties").items())
      rules.allowed.push_back(name);
  }
  rules.restricted = schema.value("additionalProperties", Json(true)) == Json(false);
  return rules;
}

/// Takes the texts of the outermost object and stops where its figures begin.
class HeadReader : public nlohmann::json_sax<Json> {
 public:
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool binary(binary_t&) override { return false; }
  bool string(string_t& text) override {
    if (depth_ != 1) return true;
    if (key_ == "id") head.id = text;
    if (key_ == "kind") head.kind = text;
    if (key_ == "extends") head.extends = text;
    if (key_ == "as_of") head.as_of = text;
    return true;
  }
  bool key(string_t& name) override {
    if (depth_ != 1) return true;
    key_ = name;
    complete = name == "figures" && !head.id.empty() && !head.kind.empty();
    return name != "figures";
  }
  bool start_object(std::size_t) override { return ++depth_ > 0; }
  bool end_object() override { return --depth_ > 0; }
  bool start_array(std::size_t) override { return ++depth_ > 1; }
  bool end_array() override { return --depth_ > 0; }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override {
    return false;
  }

  ConstantsShelf::Head head;
  bool complete = false;

 private:
  int depth_ = 0;
  std::string key_;
};

void append(Diagnostics& all, Diagnostics more) {
  std::move(more.begin(), more.end(), std::back_inserter(all));
}

Diagnostic fault(const Place& place, std::string message, std::string hint = {}) {
  return error(Code::catalog_invalid, place, std::move(message), std::move(hint));
}

}  // namespace

std::optional<ConstantsShelf::Head> ConstantsShelf::put(const std::string& text,
                                                        const std::string& file) {
  HeadReader reader;
  // The reader stops at the figures: whether the rest is sound is seen when it is read.
  Json::sax_parse(text, &reader, nlohmann::json::input_format_t::json, true, true);
  if (!reader.complete) return std::nullopt;
  Draft& draft = drafts_[reader.head.id];
  draft.kind = reader.head.kind;
  draft.extends = reader.head.extends;
  draft.place.file = file;
  draft.unread = text;
  return std::move(reader.head);
}

void ConstantsShelf::lay(EntryReader& in, const std::string& id, const std::string& pointer) {
  const auto [found, fresh] = drafts_.try_emplace(id);
  if (fresh) found->second.kind = in.text(in.at(pointer), pointer, "kind");
  read(*found);
  take(in, *found, pointer);
  found->second.laid = true;
}

Diagnostics ConstantsShelf::check_laid() {
  Diagnostics faults;
  for (const auto& [id, draft] : drafts_) {
    if (!draft.laid) continue;
    if (const auto set = get(id); !set) append(faults, set.error());
  }
  return faults;
}

void ConstantsShelf::read(Drafts::value_type& draft) {
  Draft& set = draft.second;
  if (set.unread.empty()) return;
  const auto document = JsonDocument::parse(std::exchange(set.unread, {}), set.place.file);
  if (!document) return append(set.faults, document.error());
  EntryReader in(*document);
  take(in, draft, "");
  append(set.faults, in.take_faults());
}

void ConstantsShelf::take(EntryReader& in, Drafts::value_type& draft, const std::string& pointer) {
  const Json& set = in.at(pointer);
  auto& [id, to] = draft;
  to.place.file = in.document().file();
  to.place.pointer = pointer;
  if (set.contains("about")) to.about = in.text(set, pointer, "about");
  if (set.contains("extends")) to.extends = in.text(set, pointer, "extends");
  in.use_sources(set.contains("sources") ? set : in.document().root());
  in.read_constants(set, pointer, to.entries);
}

Result<const Constants*> ConstantsShelf::get(std::string_view id) {
  const std::scoped_lock lock(reading_);
  auto set = sets_.find(id);
  if (set == sets_.end()) {
    const auto draft = drafts_.find(id);
    if (draft == drafts_.end()) {
      return fail(error(Code::unknown_name, fmt::format("unknown constants set `{}`", id),
                        suggest(id, ids({}))));
    }
    set = sets_.emplace(draft->first, assemble(*draft)).first;
  }
  if (!set->second) return fail(set->second.error());
  return &*set->second;
}

Result<Lineage> ConstantsShelf::lineage(std::string_view id) {
  if (const auto set = get(id); !set) return fail(set.error());
  const std::scoped_lock lock(reading_);
  Lineage lineage;
  Diagnostics none;  // `get` has told them
  const auto chain = ancestry(*drafts_.find(id), none);
  for (std::size_t i = 1; i < chain.size(); ++i)
    lineage.bases.push_back(chain[i]->first);
  for (const Constants::Entry& entry : chain.front()->second.entries)
    lineage.own.push_back(entry.name);
  return lineage;
}

std::vector<std::string> ConstantsShelf::ids(std::string_view kind) const {
  std::vector<std::string> all;
  for (const auto& [id, draft] : drafts_)
    if (kind.empty() || draft.kind == kind) all.push_back(id);
  return all;
}

Result<Constants> ConstantsShelf::assemble(Drafts::value_type& draft) {
  Diagnostics faults;
  const std::vector<Drafts::value_type*> chain = ancestry(draft, faults);
  std::vector<Constants::Entry> entries;
  for (auto set = chain.rbegin(); set != chain.rend(); ++set) {
    read(**set);
    const Draft& own = (*set)->second;
    append(faults, own.faults);
    entries.insert(entries.end(), own.entries.begin(), own.entries.end());
  }
  const auto& [id, from] = draft;
  Constants built(id, from.kind, std::move(entries), from.about);

  const KindRules& of_kind = rules(from.kind, faults);
  for (const std::string& name : of_kind.required) {
    if (built.find(name) != nullptr) continue;
    faults.push_back(fault(
        from.place,
        fmt::format("`{}` lacks the figure `{}` that every {} set has", id, name, from.kind)));
  }
  for (const Constants::Entry& entry : from.entries) {
    const auto& allowed = of_kind.allowed;
    if (!of_kind.restricted ||
        std::find(allowed.begin(), allowed.end(), entry.name) != allowed.end())
      continue;
    faults.push_back(fault(from.place, fmt::format("`{}`: unknown figure `{}`", id, entry.name),
                           suggest(entry.name, allowed)));
  }
  if (!faults.empty()) return fail(std::move(faults));
  return built;
}

/// The set itself, the one it extends, and so on.
std::vector<ConstantsShelf::Drafts::value_type*> ConstantsShelf::ancestry(Drafts::value_type& draft,
                                                                          Diagnostics& faults) {
  std::vector<Drafts::value_type*> chain{&draft};
  while (!chain.back()->second.extends.empty()) {
    const auto& [last, set] = *chain.back();
    const auto base = drafts_.find(set.extends);
    if (base == drafts_.end()) {
      faults.push_back(fault(set.place,
                             fmt::format("`{}` extends an unknown set `{}`", last, set.extends),
                             suggest(set.extends, ids({}))));
      break;
    }
    if (std::find(chain.begin(), chain.end(), &*base) != chain.end()) {
      faults.push_back(fault(
          set.place, fmt::format("`{}` extends itself through `{}`", draft.first, set.extends)));
      break;
    }
    if (base->second.kind != draft.second.kind) {
      faults.push_back(fault(
          set.place, fmt::format("`{}` is of kind {} and extends `{}` of kind {}", draft.first,
                                 draft.second.kind, base->first, base->second.kind)));
      break;
    }
    chain.push_back(&*base);
  }
  return chain;
}

const KindRules& ConstantsShelf::rules(const std::string& kind, Diagnostics& faults) {
  const auto found = rules_.find(kind);
  if (found != rules_.end()) return found->second;
  return rules_.emplace(kind, read_rules(kind, directory_, faults)).first->second;
}

}  // namespace flowplan::catalog
