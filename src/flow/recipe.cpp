#include "flowplan/flow/recipe.hpp"

#include <array>
#include <charconv>
#include <map>
#include <optional>
#include <span>

#include <fmt/format.h>

#include "fabric.hpp"

namespace flowplan::flow {
namespace {

constexpr double giga = 1e9;

template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  Number value{};
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(at);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

/// "4x4x2"; empty when it is not that.
std::vector<std::uint32_t> parse_product(std::string_view text) {
  std::vector<std::uint32_t> numbers;
  for (const std::string_view part : split(text, 'x')) {
    const auto number = parse_number<std::uint32_t>(part);
    if (!number) return {};
    numbers.push_back(*number);
  }
  return numbers;
}

/// What follows "kind:": a bare value first, if any, and `key=value` after it.
class Recipe {
 public:
  Recipe(std::string_view kind, std::string_view rest) : kind_(kind) {
    if (rest.empty()) return;
    for (const std::string_view part : split(rest, ',')) {
      const std::size_t equals = part.find('=');
      const bool bare = equals == std::string_view::npos;
      const std::string key(bare ? std::string_view{} : part.substr(0, equals));
      if (!values_.emplace(key, bare ? part : part.substr(equals + 1)).second) {
        complain(bare ? fmt::format("`{}` has no key", part) : fmt::format("`{}` comes twice", key),
                 "values after the first are spelt key=value");
      }
    }
  }

  std::optional<std::string_view> take(const std::string& key) {
    known_.push_back(key);
    const auto found = values_.find(key);
    if (found == values_.end()) return std::nullopt;
    const std::string_view value = found->second;
    values_.erase(found);
    return value;
  }

  void take(const std::string& key, std::uint32_t& out) {
    const auto text = take(key);
    if (!text) return;
    if (const auto number = parse_number<std::uint32_t>(*text)) {
      out = *number;
    } else {
      complain(key, *text, "a whole number");
    }
  }

  void take(const std::string& key, double& out, double unit = 1.0) {
    const auto text = take(key);
    if (!text) return;
    if (const auto number = parse_number<double>(*text)) {
      out = *number * unit;
    } else {
      complain(key, *text, "a number");
    }
  }

  void take(const std::string& key, std::vector<std::uint32_t>& out) {
    const auto text = take(key);
    if (!text) return;
    out = parse_product(*text);
    if (out.empty()) complain(key, *text, "numbers with x between, as in 4x4x2");
  }

  /// Whether a value that was taken is not what it should be.
  [[nodiscard]] bool misread() const { return !faults_.empty(); }

  /// Whatever was not taken is a fault.
  Result<Topology> finish(Topology topology) {
    for (const auto& [key, value] : values_) {
      if (key.empty()) {
        complain(fmt::format("{} takes no bare value `{}`", kind_, value), suggest({}, named()));
      } else {
        complain(fmt::format("{} has no `{}`", kind_, key), suggest(key, named()));
      }
    }
    if (!faults_.empty()) return fail(std::move(faults_));
    return topology;
  }

 private:
  [[nodiscard]] std::vector<std::string> named() const {
    std::vector<std::string> names;
    for (const std::string& key : known_) {
      if (!key.empty()) names.push_back(key);
    }
    return names;
  }

  void complain(std::string message, std::string hint) {
    faults_.push_back(bad_generator(std::move(message), std::move(hint)));
  }
  void complain(const std::string& key, std::string_view text, const char* wanted) {
    complain(key.empty() ? fmt::format("{}:{}: not understood", kind_, text)
                         : fmt::format("{}={}: not understood", key, text),
             wanted);
  }

  std::string kind_;
  std::map<std::string, std::string_view> values_;
  std::vector<std::string> known_;
  Diagnostics faults_;
};

Result<Topology> fat_tree(Recipe recipe) {
  FatTree tree;
  std::uint32_t hosts = 0, levels = 3;
  recipe.take("", hosts);
  recipe.take("levels", levels);
  recipe.take("down", tree.down);
  recipe.take("up", tree.up);
  if (recipe.misread()) return recipe.finish(std::move(tree));
  if (tree.down.empty() && tree.up.empty()) {
    if (hosts < 2 || hosts > most_hosts || levels < 1 || levels > hosts) {
      return fail(bad_generator(fmt::format("a fat tree of {} hosts, {} levels", hosts, levels),
                                "for example fat-tree:64, or fat-tree:down=4x4x4,up=1x4x4"));
    }
    tree = full_fat_tree(hosts, levels);
  } else if (hosts != 0) {
    return fail(bad_generator("a fat tree by hosts and by down and up", "give one of them"));
  }
  recipe.take("gbytes_per_s", tree.bytes_per_s, giga);
  return recipe.finish(std::move(tree));
}

Result<Topology> clos(Recipe recipe) {
  Clos clos;
  recipe.take("leaves", clos.leaves);
  recipe.take("hosts", clos.hosts_per_leaf);
  recipe.take("spines", clos.spines);
  recipe.take("oversubscription", clos.oversubscription);
  recipe.take("gbytes_per_s", clos.bytes_per_s, giga);
  return recipe.finish(clos);
}

Result<Topology> torus(Recipe recipe) {
  Torus torus;
  recipe.take("", torus.dimensions);
  recipe.take("gbytes_per_s", torus.bytes_per_s, giga);
  return recipe.finish(std::move(torus));
}

Result<Topology> dragonfly(Recipe recipe) {
  Dragonfly d;
  recipe.take("groups", d.groups);
  recipe.take("routers", d.routers_per_group);
  recipe.take("hosts", d.hosts_per_router);
  recipe.take("gbytes_per_s", d.bytes_per_s, giga);
  recipe.take("local_gbytes_per_s", d.local_bytes_per_s, giga);
  recipe.take("global_gbytes_per_s", d.global_bytes_per_s, giga);
  return recipe.finish(d);
}

template <class Value>
struct Named {
  std::string_view name;
  Value value;
};

constexpr std::array topologies{Named<Result<Topology> (*)(Recipe)>{"fat-tree", fat_tree},
                                Named<Result<Topology> (*)(Recipe)>{"clos", clos},
                                Named<Result<Topology> (*)(Recipe)>{"torus", torus},
                                Named<Result<Topology> (*)(Recipe)>{"dragonfly", dragonfly}};
constexpr std::array patterns{
    Named<Pattern>{"permutation", Pattern::permutation},
    Named<Pattern>{"all-to-all", Pattern::all_to_all}, Named<Pattern>{"ring", Pattern::ring},
    Named<Pattern>{"incast", Pattern::incast}, Named<Pattern>{"random", Pattern::random}};
constexpr std::array kinds_of_sizes{Named<Sizes>{"equal", Sizes::equal},
                                    Named<Sizes>{"random", Sizes::random}};

template <class Value, std::size_t n>
Result<Value> look_up(const std::array<Named<Value>, n>& table, std::string_view name,
                      std::string_view what) {
  std::vector<std::string> names;
  for (const Named<Value>& entry : table) {
    if (entry.name == name) return entry.value;
    names.emplace_back(entry.name);
  }
  return fail(bad_generator(fmt::format("there is no {} `{}`", what, name), suggest(name, names)));
}

}  // namespace

Result<Topology> parse_topology(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::string_view kind = text.substr(0, colon);
  const auto read = look_up(topologies, kind, "topology");
  if (!read) return fail(read.error());
  return (*read)(
      Recipe(kind, colon == std::string_view::npos ? std::string_view{} : text.substr(colon + 1)));
}

Result<Pattern> parse_pattern(std::string_view text) {
  return look_up(patterns, text, "traffic");
}

Result<Sizes> parse_sizes(std::string_view text) {
  return look_up(kinds_of_sizes, text, "kind of sizes");
}

}  // namespace flowplan::flow
