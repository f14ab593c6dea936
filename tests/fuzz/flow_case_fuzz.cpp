// Mutates flow cases by seed and checks what must hold for any input: no crash, every refusal has a
// code and a message, every accepted case ends at finite times, the first rates pass the definition
// of max-min fairness, and symmetry changes nothing.
//
//   flowplan_flow_case_fuzz CASE_FOLDER SCHEMA [SECONDS [FIRST_SEED]]
//
// The same seed makes the same case on every platform; a failure prints seed and case. Without
// SECONDS a fixed number of seeds is tried.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "flowplan/base/text_file.hpp"
#include "flowplan/flow/case_file.hpp"
#include "flowplan/flow/generate.hpp"
#include "flowplan/flow/replay.hpp"
#include "flowplan/flow/trace.hpp"

namespace {

using namespace flowplan;
using namespace flowplan::flow;
using Json = nlohmann::ordered_json;

constexpr std::uint64_t default_seeds = 4000;
constexpr std::size_t largest_case = 60000;  // characters; larger ones are left to other tests
constexpr double most_runs = 2000.0;         // of all tasks together, so that a case ends soon
constexpr double agreement = 1e-9;           // relative, of folded and unfolded ends

/// Numbers by seed, alike on every platform.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}
  std::size_t below(std::size_t count) { return count == 0 ? 0 : engine_() % count; }
  bool chance(std::size_t one_in) { return below(one_in) == 0; }
  template <class T>
  const T& pick(const std::vector<T>& list) {
    return list[below(list.size())];
  }

 private:
  std::mt19937_64 engine_;
};

/// A valid case of our own format with everything that it can say.
Json make_case(Dice& dice) {
  const std::size_t nodes = 2 + dice.below(5);
  const auto node = [&] { return fmt::format("n{}", dice.below(nodes)); };
  const auto figure = [&] {
    return static_cast<double>(1 + dice.below(4)) / (dice.chance(3) ? 3 : 1);
  };
  Json root{{"format", "flowplan-flow-1"}, {"links", Json::array()}, {"flows", Json::array()}};
  for (std::size_t n = 0; n < nodes; ++n) {
    root["links"].push_back({{"from", fmt::format("n{}", n)},
                             {"to", fmt::format("n{}", (n + 1) % nodes)},
                             {"both_ways", nodes > 2},
                             {"gbytes_per_s", figure()}});
  }
  if (dice.chance(2)) {
    root["links"].push_back(
        {{"name", "own"}, {"from", "n0"}, {"to", "n0"}, {"gbits_per_s", figure()}});
  }
  const std::size_t flows = 1 + dice.below(14);
  for (std::size_t f = 0; f < flows; ++f) {
    Json flow{{"source", node()}, {"target", node()}, {"gbytes", figure()}};
    if (flow["source"] == flow["target"] || dice.chance(5)) flow["cap_gbytes_per_s"] = figure();
    if (dice.chance(4)) flow["start_s"] = figure();
    if (dice.chance(4)) flow["weight"] = figure();
    if (dice.chance(9)) flow["gbytes"] = 0;
    if (flow["source"] == "n0" && flow["target"] == "n1" && dice.chance(2)) {
      flow["path"] = {"n0->n1"};
      flow["coefficients"] = {{"n0->n1", figure()}};
    }
    root["flows"].push_back(flow);
  }
  if (dice.chance(2)) {
    Json tasks = Json::array();
    for (std::size_t f = 0; f < flows; ++f) {
      const std::size_t t = tasks.size();
      if (t == 0 || dice.chance(2)) {
        Json task{{"name", fmt::format("t{}", t)}, {"flows", Json::array()}};
        if (t > 0 && dice.chance(2)) task["after"] = {fmt::format("t{}", dice.below(t))};
        if (dice.chance(3)) task["delay_s"] = figure();
        if (dice.chance(3)) task["repeat"] = 1 + dice.below(4);
        tasks.push_back(task);
      }
      tasks.back()["flows"].push_back(f);
    }
    root["tasks"] = tasks;
  }
  return root;
}

/// Pointers to every value of a document.
void collect(Json& value, std::vector<Json*>& out) {
  out.push_back(&value);
  for (Json& child : value) {
    if (value.is_structured()) collect(child, out);
  }
}

Json odd_value(Dice& dice) {
  static const std::vector<Json> odd{
      Json(),       Json(true),   Json(0),          Json(-1),
      Json(1),      Json(0.1),    Json(1e-6),       Json(1e24),
      Json(1e12),   Json(1e308),  Json(2.5),        Json(4294967295U),
      Json(""),     Json("n0"),   Json("n0->n1"),   Json("t0"),
      Json("\xff"), Json(999999), Json::array(),    Json::object(),
      Json(1e6),    Json(1e-300), Json::array({0}), Json(std::int64_t{-9223372036854775807})};
  return dice.pick(odd);
}

/// Changes the tree: values replaced, moved, doubled, removed, keys renamed.
void mutate_tree(Json& root, Dice& dice) {
  for (std::size_t times = 1 + dice.below(3); times > 0; --times) {
    std::vector<Json*> all;
    collect(root, all);
    Json& value = *all[dice.below(all.size())];
    const Json other = *all[dice.below(all.size())];
    switch (dice.below(6)) {
      case 0:
        value = odd_value(dice);
        break;
      case 1:
        value = other;
        break;
      case 2:
        if (value.is_array() && !value.empty()) value.push_back(value[dice.below(value.size())]);
        break;
      case 3:
        if (value.is_array() && !value.empty()) value.erase(dice.below(value.size()));
        break;
      case 4:
        if (value.is_object() && !value.empty()) {
          auto member = value.begin();
          std::advance(member, dice.below(value.size()));
          const std::string key = member.key();
          value.erase(key);
          if (dice.chance(2)) value[key + "x"] = other;
        }
        break;
      default:
        if (value.is_number()) {
          value = value.get<double>() * std::pow(10.0, static_cast<double>(dice.below(9)) - 4.0);
        }
    }
  }
}

/// Changes characters: flipped, removed, inserted, a stretch doubled, the end cut off.
void mutate_text(std::string& text, Dice& dice) {
  static const std::string characters = "{}[]\",:0123456789.eE+-ntrue \\\n\xff/*";
  for (std::size_t times = 1 + dice.below(4); times > 0 && !text.empty(); --times) {
    const std::size_t at = dice.below(text.size());
    const std::size_t length = std::min(text.size() - at, 1 + dice.below(12));
    switch (dice.below(5)) {
      case 0:
        text[at] = characters[dice.below(characters.size())];
        break;
      case 1:
        text.erase(at, length);
        break;
      case 2:
        text.insert(at, 1, characters[dice.below(characters.size())]);
        break;
      case 3:
        text.insert(at, text.substr(at, length));
        break;
      default:
        if (dice.chance(4)) text.resize(at);
    }
  }
}

/// What was wrong with refusals or results; nothing when all is as it must be.
std::optional<std::string> complaint(const Diagnostics& faults) {
  if (faults.empty()) return "refused without a reason";
  for (const Diagnostic& fault : faults) {
    const auto table = code_table();
    if (fault.message.empty()) return "a fault without a message";
    if (std::none_of(table.begin(), table.end(),
                     [&](const CodeInfo& info) { return info.code == fault.code; })) {
      return "a fault with an unlisted code: " + fault.message;
    }
  }
  if (render(faults).empty() || exit_code(faults) == 0) return "faults that render to nothing";
  return std::nullopt;
}

bool agree(const std::vector<double>& a, const std::vector<double>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](double x, double y) {
    return std::abs(x - y) <= agreement * std::max(std::abs(x), std::abs(y));
  });
}

/// Whether all numbers are finite, and none is negative.
bool sound(const std::vector<double>& numbers) {
  return std::all_of(numbers.begin(), numbers.end(),
                     [](double x) { return std::isfinite(x) && x >= 0.0; });
}

struct Tally {
  std::uint64_t tried = 0, refused = 0, replayed = 0, skipped = 0;
};

std::optional<std::string> check_replay(const Case& c, Tally& tally) {
  double runs = 0.0;
  for (const TaskGraph::Task& task : c.tasks)
    runs += task.repeat;
  if (runs > most_runs) {
    ++tally.skipped;
    return std::nullopt;
  }
  const auto plain = replay(c, Folding::off);
  if (!plain) return complaint(plain.error());
  ++tally.replayed;
  if (plain->flows.end_s.size() != c.flows.size()) return "not every flow has an end";
  if (!sound(plain->flows.end_s) || !sound(plain->flows.link_amount) ||
      !sound({plain->flows.makespan_s}) || !sound(plain->task_end_s)) {
    return "a time or an amount is not finite";
  }
  for (std::size_t f = 0; f < c.flows.size(); ++f) {
    // Starts and ends within 1e-13 are one instant, whose time is that of the earliest.
    if (plain->flows.end_s[f] < plain->flow_start_s[f] * (1.0 - agreement)) {
      return "a flow ends before it starts";
    }
  }
  if (const auto refuted = refute_first_rates(c, *plain, Folding::off)) return *refuted;
  const auto folded = replay(c);
  if (!folded) return "folding refuses what is accepted without";
  if (!agree(folded->flows.end_s, plain->flows.end_s) ||
      !agree(folded->task_end_s, plain->task_end_s)) {
    return "folding changes an end";
  }
  const auto trace =
      Json::parse(chrome_trace(c, *plain, {.spans = 50, .samples = 20}), nullptr, false);
  if (trace.is_discarded()) return "the trace is no JSON";
  return std::nullopt;
}

std::optional<std::string> check(const std::string& text, const JsonDocument& schema,
                                 Tally& tally) {
  ++tally.tried;
  const auto document = JsonDocument::parse(text, "fuzz.json");
  if (!document) {
    ++tally.refused;
    return complaint(document.error());
  }
  const auto read = read_case(*document, schema);
  if (!read) {
    ++tally.refused;
    return complaint(read.error());
  }
  return check_replay(*read, tally);
}

std::string make_text(std::uint64_t seed, const std::vector<std::string>& corpus) {
  Dice dice(seed);
  const bool listed = !corpus.empty() && dice.chance(4);
  Json tree = listed ? Json::parse(dice.pick(corpus)) : make_case(dice);
  if (dice.chance(2)) mutate_tree(tree, dice);
  std::string text = tree.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (dice.chance(4)) mutate_text(text, dice);
  return text;
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 3) {
    std::fputs("usage: flowplan_flow_case_fuzz CASE_FOLDER SCHEMA [SECONDS [FIRST_SEED]]\n",
               stderr);
    return 2;
  }
  const auto schema = JsonDocument::read(arguments[2]);
  if (!schema) {
    std::fputs(render(schema.error()).c_str(), stderr);
    return 2;
  }
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(arguments[1])) {
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  std::vector<std::string> corpus;
  for (const auto& file : files) {
    const auto text = read_text(file.string(), largest_case);
    if (text) corpus.push_back(*text);
  }
  const double seconds = count > 3 ? std::atof(arguments[3]) : 0.0;
  const std::uint64_t first = count > 4 ? std::strtoull(arguments[4], nullptr, 10) : 1;
  const auto began = std::chrono::steady_clock::now();
  const auto over = [&](std::uint64_t seed) {
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - began;
    return seconds > 0.0 ? spent.count() >= seconds : seed >= first + default_seeds;
  };
  Tally tally;
  for (std::uint64_t seed = first; !over(seed); ++seed) {
    const std::string text = make_text(seed, corpus);
    if (const auto wrong = check(text, *schema, tally)) {
      fmt::print(stderr, "seed {}: {}\n{}\n", seed, *wrong, text);
      return 1;
    }
  }
  fmt::print("{} cases from seed {}: {} refused, {} replayed, {} too long to replay\n", tally.tried,
             first, tally.refused, tally.replayed, tally.skipped);
  return tally.replayed > 0 && tally.refused > 0 ? 0 : 1;
}
