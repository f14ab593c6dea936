#include "constants_draft.hpp"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "flowplan/base/json_document.hpp"

namespace flowplan::catalog {

using Json = nlohmann::ordered_json;

namespace {

/// The names that a kind of set must have and may have, from its schema.
struct KindRules {
  std::string kind;
  bool restricted = false;  // names outside `allowed` are refused
  std::vector<std::string> required, allowed;
};

KindRules read_rules(const std::string& kind, const std::string& directory, Diagnostics& faults) {
  KindRules rules;
  rules.kind = kind;
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

class Assembler {
 public:
  Assembler(const std::vector<ConstantsDraft>& drafts, const std::string& directory,
            Diagnostics& faults)
      : drafts_(drafts), directory_(directory), faults_(faults) {}

  Constants build(const ConstantsDraft& draft) {
    std::vector<const ConstantsDraft*> chain = ancestry(draft);
    std::vector<Constants::Entry> entries;
    for (auto set = chain.rbegin(); set != chain.rend(); ++set)
      entries.insert(entries.end(), (*set)->entries.begin(), (*set)->entries.end());
    Constants built(draft.id, draft.kind, std::move(entries), draft.about);
    check(draft, built);
    return built;
  }

 private:
  /// The set itself, the one it extends, and so on.
  std::vector<const ConstantsDraft*> ancestry(const ConstantsDraft& draft) {
    std::vector<const ConstantsDraft*> chain{&draft};
    while (!chain.back()->extends.empty()) {
      const ConstantsDraft& last = *chain.back();
      const auto base = std::find_if(drafts_.begin(), drafts_.end(),
                                     [&](const ConstantsDraft& d) { return d.id == last.extends; });
      if (base == drafts_.end()) {
        std::vector<std::string> known;
        for (const ConstantsDraft& d : drafts_)
          known.push_back(d.id);
        report(last, fmt::format("`{}` extends an unknown set `{}`", last.id, last.extends),
               suggest(last.extends, known));
        return chain;
      }
      if (std::find(chain.begin(), chain.end(), &*base) != chain.end()) {
        report(last, fmt::format("`{}` extends itself through `{}`", draft.id, last.extends));
        return chain;
      }
      if (base->kind != draft.kind) {
        report(last, fmt::format("`{}` is of kind {} and extends `{}` of kind {}", draft.id,
                                 draft.kind, base->id, base->kind));
        return chain;
      }
      chain.push_back(&*base);
    }
    return chain;
  }

  const KindRules& rules(const std::string& kind) {
    const auto found = std::find_if(rules_.begin(), rules_.end(),
                                    [&](const KindRules& r) { return r.kind == kind; });
    if (found != rules_.end()) return *found;
    rules_.push_back(read_rules(kind, directory_, faults_));
    return rules_.back();
  }

  void check(const ConstantsDraft& draft, const Constants& built) {
    const KindRules& of_kind = rules(draft.kind);
    for (const std::string& name : of_kind.required) {
      if (built.find(name) == nullptr) {
        report(draft, fmt::format("`{}` lacks the figure `{}` that every {} set has", draft.id,
                                  name, draft.kind));
      }
    }
    if (!of_kind.restricted) return;
    for (const Constants::Entry& entry : draft.entries) {
      if (std::find(of_kind.allowed.begin(), of_kind.allowed.end(), entry.name) !=
          of_kind.allowed.end()) {
        continue;
      }
      report(draft, fmt::format("`{}`: unknown figure `{}`", draft.id, entry.name),
             suggest(entry.name, of_kind.allowed));
    }
  }

  void report(const ConstantsDraft& draft, std::string message, std::string hint = {}) {
    faults_.push_back(
        error(Code::catalog_invalid, draft.place, std::move(message), std::move(hint)));
  }

  const std::vector<ConstantsDraft>& drafts_;
  const std::string& directory_;
  Diagnostics& faults_;
  std::vector<KindRules> rules_;
};

}  // namespace

std::vector<Constants> assemble(std::vector<ConstantsDraft> drafts, const std::string& directory,
                                Diagnostics& faults) {
  Assembler assembler(drafts, directory, faults);
  std::vector<Constants> all;
  for (const ConstantsDraft& draft : drafts)
    all.push_back(assembler.build(draft));
  std::sort(all.begin(), all.end(),
            [](const Constants& a, const Constants& b) { return a.id() < b.id(); });
  return all;
}

}  // namespace flowplan::catalog
