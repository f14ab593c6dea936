#include "flowplan/report/document.hpp"

#include <catch2/catch.hpp>

#include "flowplan/report/markdown.hpp"
#include "flowplan/report/text.hpp"

namespace document_test {

using namespace flowplan::report;

namespace {

Document example() {
  Section section{"Parts",
                  {{"whole", "2.0 s"}},
                  Table{{{"part", false}, {"s"}, {"", false}}, {}},
                  {"a remark"}};
  section.table->rows.push_back({Cell::at_depth("all", 0), "2.0", Cell::bar(1.0)});
  section.table->rows.push_back({Cell::at_depth("half | part", 1), "1.0", Cell::bar(0.5)});
  return {"Title", "Lead.", {section}};
}

}  // namespace

TEST_CASE("text aligns numbers right, indents trees, draws bars") {
  CHECK(to_text(example()) ==
        "Title\n"
        "Lead.\n"
        "\n"
        "Parts\n"
        "  whole  2.0 s\n"
        "  part             s\n"
        "  all            2.0  ####################\n"
        "    half | part  1.0  ##########\n"
        "  - a remark\n");
}

TEST_CASE("text with Unicode draws bars in eighths of a character") {
  const std::string text = to_text(example(), {true, false});
  CHECK(text.find("█") != std::string::npos);
  CHECK(text.find('#') == std::string::npos);
}

TEST_CASE("without Unicode a report is ASCII") {
  for (const char c : to_text(example()))
    CHECK(static_cast<unsigned char>(c) < 128);
}

TEST_CASE("colour appears only when asked for") {
  CHECK(to_text(example()).find('\x1b') == std::string::npos);
  CHECK(to_text(example(), {false, true}).find("\x1b[1mTitle\x1b[0m") != std::string::npos);
}

TEST_CASE("Markdown makes tables and escapes what would break them") {
  CHECK(to_markdown(example()) ==
        "# Title\n"
        "\n"
        "Lead.\n"
        "\n"
        "## Parts\n"
        "\n"
        "| | |\n"
        "| --- | --- |\n"
        "| whole | 2.0 s |\n"
        "\n"
        "| part | s |  |\n"
        "| --- | ---: | --- |\n"
        "| all | 2.0 | ████████████████████ |\n"
        "| &emsp;half \\| part | 1.0 | ██████████ |\n"
        "\n"
        "- a remark\n");
}

TEST_CASE("shares outside 0 to 1 draw an empty or a full bar") {
  Document document{
      "", "", {{"", {}, Table{{{"x", false}}, {{Cell::bar(7.0)}, {Cell::bar(-1.0)}}}, {}}}};
  CHECK(to_text(document) == "  x\n  ####################\n\n");
}

}  // namespace document_test
