#include "entry_reader.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace flowplan::catalog {

using Json = nlohmann::ordered_json;

namespace {

/// The same figure as others print it: "elsewhere 81920 [aws_api: a round number of GiB]".
std::string elsewhere(const Json& also) {
  std::string note;
  for (const Json& other : also) {
    if (!other.is_array() || other.size() < 2) continue;
    note += note.empty() ? "elsewhere " : ", ";
    note += fmt::format("{} [{}", other[0].dump(),
                        other[1].is_string() ? other[1].get<std::string>() : "");
    if (other.size() > 2 && other[2].is_string()) note += ": " + other[2].get<std::string>();
    note += "]";
  }
  return note;
}

std::string joined(std::string a, const std::string& b) {
  return a.empty() ? b : b.empty() ? a : std::move(a) + "; " + b;
}

template <class T>
void replace_or_add(std::vector<T>& all, T item) {
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const T& t) { return t.name == item.name; });
  if (found == all.end()) {
    all.push_back(std::move(item));
  } else {
    *found = std::move(item);
  }
}

}  // namespace

const Json& EntryReader::at(const std::string& pointer) const {
  return document_.root().at(Json::json_pointer(pointer));
}

void EntryReader::use_sources(const Json& node) {
  sources_.clear();
  const auto found = node.find("sources");
  if (found == node.end() || !found->is_object()) return;
  for (const auto& [key, text] : found->items())
    sources_.emplace_back(key, text.is_string() ? text.get<std::string>() : text.dump());
}

std::string EntryReader::text(const Json& node, const std::string& pointer, const char* key,
                              bool required) {
  const auto found = node.find(key);
  if (found == node.end()) {
    if (required) report(pointer, fmt::format("the key `{}` is missing", key));
    return {};
  }
  if (found->is_string()) return found->get<std::string>();
  report(child_pointer(pointer, key), fmt::format("`{}`: expected a text", key));
  return {};
}

std::vector<std::string> EntryReader::texts(const Json& node, const std::string& pointer,
                                            const char* key) {
  std::vector<std::string> all;
  const auto found = node.find(key);
  if (found == node.end()) return all;
  for (const Json& item : *found) {
    if (item.is_string()) {
      all.push_back(item.get<std::string>());
    } else {
      report(child_pointer(pointer, key), fmt::format("`{}`: expected a list of texts", key));
      break;
    }
  }
  return all;
}

Source EntryReader::source(const std::string& key, const std::string& pointer) {
  const auto found =
      std::find_if(sources_.begin(), sources_.end(), [&](const auto& s) { return s.first == key; });
  if (found != sources_.end()) return {found->second, {}, {}};
  std::vector<std::string> known;
  for (const auto& [name, unused] : sources_)
    known.push_back(name);
  report(pointer, fmt::format("source `{}` is not in this file's `sources`", key),
         suggest(key, known));
  return {};
}

std::optional<EntryReader::Parts> EntryReader::parts(const Json& node, const std::string& pointer,
                                                     const std::string& name,
                                                     const char* default_confidence) {
  const Json* value = nullptr;
  const Json* key = nullptr;
  std::string note, confidence = default_confidence;
  if (node.is_array() && node.size() >= 2) {
    value = &node[0];
    key = &node[1];
    if (node.size() > 2 && node[2].is_string()) note = node[2].get<std::string>();
  } else if (node.is_object()) {
    for (const auto& [member, content] : node.items()) {
      if (member == "value") value = &content;
      if (member == "source") key = &content;
      if (member == "confidence" && content.is_string()) confidence = content.get<std::string>();
      if (member == "note" && content.is_string()) note = content.get<std::string>();
      if (member == "also") note = joined(std::move(note), elsewhere(content));
    }
  }
  if (value == nullptr || key == nullptr || !key->is_string()) {
    report(child_pointer(pointer, name),
           "expected a figure: {\"value\", \"source\", ...} or [value, source]");
    return std::nullopt;
  }
  Parts p;
  p.value = value;
  const auto& wanted = key->get_ref<const std::string&>();
  const auto found = std::find_if(sources_.begin(), sources_.end(),
                                  [&](const auto& s) { return s.first == wanted; });
  if (found != sources_.end()) {
    p.source.text = found->second;
  } else {
    p.source = source(wanted, child_pointer(pointer, name));
  }
  p.source.confidence = std::move(confidence);
  p.source.note = std::move(note);
  return p;
}

void EntryReader::read_facts(const Json& entry, const std::string& pointer,
                             std::vector<Fact>& facts) {
  const auto figures = entry.find("figures");
  if (figures == entry.end()) return;
  const std::string below = child_pointer(pointer, "figures");
  for (const auto& [name, node] : figures->items()) {
    auto p = parts(node, below, name, "stated");
    if (!p) continue;
    Fact fact;
    fact.name = name;
    fact.figure.source = std::move(p->source);
    if (p->value->is_number()) {
      fact.figure.value = p->value->get<double>();
      fact.figure.known = true;
    } else if (p->value->is_boolean()) {
      fact.figure.value = p->value->get<bool>() ? 1.0 : 0.0;
      fact.figure.known = true;
      fact.is_flag = true;
    } else if (p->value->is_string()) {
      fact.text = p->value->get<std::string>();
    } else if (!p->value->is_null()) {
      report(child_pointer(below, name),
             fmt::format("`{}`: expected a number, a text or null", name));
      continue;
    }
    replace_or_add(facts, std::move(fact));
  }
}

void EntryReader::read_constants(const Json& set, const std::string& pointer,
                                 std::vector<Constants::Entry>& entries) {
  const auto figures = set.find("figures");
  if (figures == set.end() || !figures->is_object()) {
    report(pointer, "the key `figures` is missing");
    return;
  }
  const std::string below = child_pointer(pointer, "figures");
  for (const auto& [name, node] : figures->items()) {
    auto p = parts(node, below, name, "fitted");
    if (!p) continue;
    Constants::Entry entry{name, {}, std::move(p->source)};
    const bool list = p->value->is_array();
    bool numbers = true;
    const auto take = [&](const Json& number) {
      numbers = numbers && number.is_number();
      if (numbers) entry.values.push_back(number.get<double>());
    };
    if (list) {
      for (const Json& number : *p->value)
        take(number);
    } else {
      take(*p->value);
    }
    if (!numbers || entry.values.empty()) {
      report(child_pointer(below, name),
             fmt::format("`{}`: expected a number or a list of numbers", name));
      continue;
    }
    replace_or_add(entries, std::move(entry));
  }
}

void EntryReader::report(const std::string& pointer, std::string message, std::string hint) {
  faults_.push_back(
      error(Code::catalog_invalid, document_.place(pointer), std::move(message), std::move(hint)));
}

}  // namespace flowplan::catalog
