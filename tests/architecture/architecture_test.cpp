// The rules of docs/architecture.md that can be read off the sources.

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <catch2/catch.hpp>

namespace architecture_test {

namespace {

// In the order of docs/architecture.md: a module uses only those above it.
constexpr std::array<std::string_view, 20> modules = {
    "base",       "estimate", "model",    "catalog",  "flow",      "topology",     "compute",
    "collective", "replay",   "storage",  "training", "inference", "posttraining", "operations",
    "scenario",   "planner",  "accuracy", "export",   "report",    "cli"};

// What a public header must not pull into everybody's compilation.
constexpr std::array<std::string_view, 11> heavy_headers = {
    "nlohmann/json.hpp", "boost/",      "CLI/",    "valijson/", "tbb/",   "oneapi/",
    "graphviz/",         "pugixml.hpp", "catch2/", "execution", "google/"};

// Too slow to compile twice: one translation unit each.
constexpr std::array<std::string_view, 3> single_use_headers = {"CLI/", "valijson/", "google/"};

constexpr std::size_t long_file_lines = 500;
constexpr std::size_t longest_file_lines = 600;

struct SourceFile {
  std::string path;  // from the top of the repository, as src/flow/max_min.cpp
  std::vector<std::string> lines;
};

struct Include {
  std::string target;
  bool quoted;
};

std::optional<Include> parse_include(std::string_view line) {
  const auto skip_blanks = [&line] {
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
  };
  skip_blanks();
  if (!line.starts_with('#')) return std::nullopt;
  line.remove_prefix(1);
  skip_blanks();
  if (!line.starts_with("include")) return std::nullopt;
  line.remove_prefix(std::string_view("include").size());
  skip_blanks();
  if (!line.starts_with('"') && !line.starts_with('<')) return std::nullopt;
  const bool quoted = line.front() == '"';
  line.remove_prefix(1);
  const std::size_t end = line.find(quoted ? '"' : '>');
  if (end == std::string_view::npos) return std::nullopt;
  return Include{std::string(line.substr(0, end)), quoted};
}

std::optional<std::size_t> module_row(std::string_view name) {
  const auto found = std::find(modules.begin(), modules.end(), name);
  if (found == modules.end()) return std::nullopt;
  return static_cast<std::size_t>(found - modules.begin());
}

std::string_view first_component(std::string_view path) {
  return path.substr(0, path.find('/'));
}

bool remove_prefix(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

template <std::size_t N>
const std::string_view* find_prefix(const std::array<std::string_view, N>& prefixes,
                                    std::string_view text) {
  const auto found = std::find_if(prefixes.begin(), prefixes.end(),
                                  [text](auto prefix) { return text.starts_with(prefix); });
  return found == prefixes.end() ? nullptr : &*found;
}

bool is_public_header(std::string_view path) {
  return path.starts_with("include/");
}

// The path inside its module's folder, behind include/flowplan/ or src/; empty for other files.
std::string_view path_of_module(std::string_view path) {
  if (remove_prefix(path, "include/flowplan/") || remove_prefix(path, "src/")) {
    if (path.find('/') != std::string_view::npos) return path;
  }
  return {};
}

std::vector<std::string> include_violations(const SourceFile& file, std::string_view own_module,
                                            std::size_t own_row) {
  std::vector<std::string> found;
  for (const std::string& line : file.lines) {
    const std::optional<Include> include = parse_include(line);
    if (!include) continue;
    const auto report = [&](const std::string& what) {
      found.push_back(file.path + " includes " + include->target + ": " + what);
    };
    std::string_view target = include->target;
    if (remove_prefix(target, "flowplan/")) {
      const std::string_view module = first_component(target);
      const std::optional<std::size_t> row = module_row(module);
      if (!row) {
        report(std::string(module) + " is not a module");
      } else if (*row > own_row) {
        report(std::string(module) + " stands below " + std::string(own_module));
      }
    } else if (target.find("..") != std::string_view::npos) {
      report("leaves its module by a relative path");
    } else if (is_public_header(file.path)) {
      if (include->quoted) report("a public header includes a private one");
      if (find_prefix(heavy_headers, target) != nullptr) report("too heavy for a public header");
    }
  }
  return found;
}

std::vector<std::string> repeated_heavy_includes(const std::vector<SourceFile>& tree) {
  std::map<std::string_view, std::set<std::string>> users;
  for (const SourceFile& file : tree) {
    if (path_of_module(file.path).empty()) continue;
    for (const std::string& line : file.lines) {
      const std::optional<Include> include = parse_include(line);
      if (!include) continue;
      const std::string_view* heavy = find_prefix(single_use_headers, include->target);
      if (heavy != nullptr) users[*heavy].insert(file.path);
    }
  }
  std::vector<std::string> found;
  for (const auto& [header, files] : users) {
    if (files.size() < 2) continue;
    std::string message = std::string(header) + " is included by more than one file:";
    for (const std::string& file : files)
      message += " " + file;
    found.push_back(message);
  }
  return found;
}

// A source implements or serves what a header of its module declares.
bool includes_own_header(const SourceFile& file, std::string_view own_module) {
  return std::any_of(file.lines.begin(), file.lines.end(), [&](const std::string& line) {
    const std::optional<Include> include = parse_include(line);
    if (!include || !include->quoted) return false;
    std::string_view target = include->target;
    return remove_prefix(target, "flowplan/") ? first_component(target) == own_module
                                              : target.find('/') == std::string_view::npos;
  });
}

// What is wrong with a tree of sources, one sentence each.
std::vector<std::string> violations(const std::vector<SourceFile>& tree) {
  std::vector<std::string> found;
  for (const SourceFile& file : tree) {
    if (file.lines.size() > longest_file_lines) {
      found.push_back(file.path + " is too long: " + std::to_string(file.lines.size()) + " lines");
    }
    const std::string inner(path_of_module(file.path));
    if (inner.empty()) continue;
    const std::string_view module = first_component(inner);
    const std::optional<std::size_t> row = module_row(module);
    if (!row) {
      found.push_back(file.path + ": " + std::string(module) + " is not a module");
      continue;
    }
    const std::vector<std::string> includes = include_violations(file, module, *row);
    found.insert(found.end(), includes.begin(), includes.end());
    if (inner.ends_with(".cpp") && !includes_own_header(file, module)) {
      found.push_back(file.path + " includes no header of its module");
    }
  }
  const std::vector<std::string> repeated = repeated_heavy_includes(tree);
  found.insert(found.end(), repeated.begin(), repeated.end());
  return found;
}

std::vector<std::string> read_lines(const std::filesystem::path& path) {
  std::ifstream in(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);)
    lines.push_back(line);
  return lines;
}

std::vector<SourceFile> read_tree(const std::filesystem::path& root) {
  std::vector<SourceFile> tree;
  for (const char* folder : {"include", "src", "tests"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root / folder)) {
      const std::string extension = entry.path().extension().string();
      if (extension != ".hpp" && extension != ".cpp") continue;
      tree.push_back({std::filesystem::relative(entry.path(), root).generic_string(),
                      read_lines(entry.path())});
    }
  }
  std::sort(tree.begin(), tree.end(),
            [](const SourceFile& a, const SourceFile& b) { return a.path < b.path; });
  return tree;
}

using Violations = std::vector<std::string>;

}  // namespace

TEST_CASE("the sources keep to the architecture") {
  const std::vector<SourceFile> tree = read_tree(FLOWPLAN_SOURCE_DIR);
  REQUIRE(std::any_of(tree.begin(), tree.end(), [](const SourceFile& file) {
    return file.path == "include/flowplan/base/result.hpp" && !file.lines.empty();
  }));
  for (const SourceFile& file : tree) {
    if (file.lines.size() > long_file_lines) {
      WARN(file.path << " is long: " << file.lines.size() << " lines");
    }
  }
  for (const std::string& violation : violations(tree))
    FAIL_CHECK(violation);
}

TEST_CASE("a tree that keeps to the rules has no violations") {
  CHECK(violations({{"include/flowplan/flow/max_min.hpp",
                     {"#include <vector>", "#include <nlohmann/json_fwd.hpp>",
                      "#include \"flowplan/flow/flow_set.hpp\"",
                      "#include \"flowplan/base/quantity.hpp\""}},
                    {"src/flow/max_min.cpp",
                     {"#include \"flowplan/flow/max_min.hpp\"", "#include <nlohmann/json.hpp>",
                      "#include \"rounds.hpp\""}},
                    {"src/flow/rounds.hpp", {"#include <boost/graph/graph_traits.hpp>"}},
                    {"src/flow/rounds.cpp", {"#include \"rounds.hpp\""}},
                    {"src/main.cpp", {"#include \"flowplan/cli/run.hpp\""}}}) == Violations{});
}

TEST_CASE("a module that includes one below it is reported") {
  CHECK(
      violations({{"src/flow/rates.hpp", {"  #  include \"flowplan/topology/graph.hpp\" // x"}}}) ==
      Violations{"src/flow/rates.hpp includes flowplan/topology/graph.hpp: "
                 "topology stands below flow"});
  CHECK(violations({{"include/flowplan/base/a.hpp", {"#include <flowplan/estimate/b.hpp>"}}}) ==
        Violations{"include/flowplan/base/a.hpp includes flowplan/estimate/b.hpp: "
                   "estimate stands below base"});
}

TEST_CASE("an unknown module is reported where it stands and where it is included") {
  CHECK(violations({{"src/utils/strings.hpp", {}},
                    {"src/cli/a.hpp", {"#include \"flowplan/utils/strings.hpp\""}}}) ==
        Violations{"src/utils/strings.hpp: utils is not a module",
                   "src/cli/a.hpp includes flowplan/utils/strings.hpp: utils is not a module"});
}

TEST_CASE("a public header may include neither heavy nor private headers") {
  for (const char* heavy :
       {"nlohmann/json.hpp", "boost/graph/adjacency_list.hpp", "CLI/CLI.hpp",
        "valijson/validator.hpp", "tbb/parallel_for.h", "graphviz/gvc.h", "execution"}) {
    CHECK(violations({{"include/flowplan/cli/a.hpp", {std::string("#include <") + heavy + ">"}}}) ==
          Violations{std::string("include/flowplan/cli/a.hpp includes ") + heavy +
                     ": too heavy for a public header"});
  }
  CHECK(violations({{"include/flowplan/cli/a.hpp", {"#include \"options.hpp\""}}}) ==
        Violations{"include/flowplan/cli/a.hpp includes options.hpp: "
                   "a public header includes a private one"});
}

TEST_CASE("a relative path out of a module is reported") {
  CHECK(violations({{"src/base/a.hpp", {"#include \"../cli/options.hpp\""}}}) ==
        Violations{"src/base/a.hpp includes ../cli/options.hpp: "
                   "leaves its module by a relative path"});
}

TEST_CASE("a source that includes no header of its module is reported") {
  const Violations named{"src/flow/a.cpp includes no header of its module"};
  CHECK(violations({{"src/flow/a.cpp", {}}}) == named);
  CHECK(violations({{"src/flow/a.cpp", {"#include <b.hpp>"}}}) == named);
  CHECK(violations({{"src/flow/a.cpp", {"#include \"flowplan/base/b.hpp\""}}}) == named);
  CHECK(violations({{"src/flow/a.cpp", {"#include <vector>", "#include \"b.hpp\""}}}) ==
        Violations{});
  CHECK(violations({{"src/flow/a.cpp", {"#include \"flowplan/flow/b.hpp\""}}}) == Violations{});
}

TEST_CASE("a header that is to be compiled once is reported when two files include it") {
  CHECK(violations({{"src/cli/a.hpp", {"#include <CLI/App.hpp>", "#include <CLI/Config.hpp>"}}}) ==
        Violations{});
  CHECK(violations({{"src/cli/a.hpp", {"#include <CLI/CLI.hpp>"}},
                    {"src/cli/b.hpp", {"#include <CLI/App.hpp>"}}}) ==
        Violations{"CLI/ is included by more than one file: src/cli/a.hpp src/cli/b.hpp"});
}

TEST_CASE("a file is too long from one line past the limit on") {
  const std::vector<std::string> full(longest_file_lines);
  std::vector<std::string> over = full;
  over.emplace_back();
  CHECK(violations({{"tests/flow/flow_test.cpp", full}}) == Violations{});
  CHECK(violations({{"tests/flow/flow_test.cpp", over}}) ==
        Violations{"tests/flow/flow_test.cpp is too long: 601 lines"});
}

}  // namespace architecture_test
