#include "../../src/cli/manual.hpp"

#include <catch2/catch.hpp>

#include "../../src/cli/command.hpp"
#include "../export/external_tool.hpp"
#include "../missing_tool.hpp"
#include "program.hpp"

namespace manual_test {

namespace exporting = flowplan::exporting;

TEST_CASE("every command has a manual page that names its options") {
  const auto pages = flowplan::cli::manual_pages();
  REQUIRE(pages.size() == flowplan::cli::commands().size() + 1);
  CHECK(pages.front().first == "flowplan.1");
  CHECK(pages.front().second == flowplan_run({"help", "--man"}).out);
  for (std::size_t i = 0; i < flowplan::cli::commands().size(); ++i) {
    const auto& command = flowplan::cli::commands()[i];
    const auto& [name, text] = pages[i + 1];
    CAPTURE(name);
    for (const auto& option : command.options) {
      std::string escaped = "\\-\\-";
      for (const char c : option.name)
        escaped += c == '-' ? std::string("\\-") : std::string(1, c);
      CHECK(contains(text, escaped));
    }
  }
}

TEST_CASE("every command has an example") {
  for (const auto& command : flowplan::cli::commands()) {
    CAPTURE(command.name);
    CHECK_FALSE(command.examples.empty());
  }
}

TEST_CASE("mandoc and man find no fault in the pages") {
  const exporting::ToolFolder folder("flowplan-man");
  REQUIRE(flowplan_run({"help", "--man-folder", folder.path()}).code == 0);
  if (exporting::has_tool("mandoc")) {
    const auto lint = exporting::run_tool("mandoc -T lint -W warning " + folder.path() + "/*.1");
    INFO(lint.output);
    CHECK(lint.code == 0);
  } else {
    missing_tool("skipped: mandoc is not installed");
  }
  if (exporting::has_tool("man") && exporting::has_tool("groff")) {
    const auto formatted = exporting::run_tool(
        "for page in " + folder.path() +
        "/*.1; do LC_ALL=C.UTF-8 MANWIDTH=80 man --warnings -l -Tutf8 -Z $page >/dev/null; done");
    INFO(formatted.output);
    CHECK(formatted.output.empty());
  }
}

}  // namespace manual_test
