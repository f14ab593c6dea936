#include "flowplan/base/diagnostic.hpp"

#include <algorithm>
#include <vector>

#include <catch2/catch.hpp>

namespace diagnostic_test {

using namespace flowplan;

TEST_CASE("a diagnostic reads like a compiler's") {
  Place place = in_file("s.json", 3);
  place.column = 12;
  place.pointer = "/cluster/instance";
  place.source_line = "  \"instance\": \"p5.48large\"";
  CHECK(render(error(Code::unknown_name, place, "unknown instance `p5.48large`",
                     "did you mean `p5.48xlarge`?")) ==
        "s.json:3:12: error[FP030]: unknown instance `p5.48large` (at /cluster/instance)\n"
        "    \"instance\": \"p5.48large\"\n"
        "             ^\n"
        "  hint: did you mean `p5.48xlarge`?\n");
}

TEST_CASE("the excerpt of a very long line stays readable") {
  Place place = in_file("s.json", 1);
  place.column = 5000;
  place.source_line = std::string(10'000, 'x');
  const std::string text = render(error(Code::json_syntax, place, "m"));
  CHECK(text.size() < 400);
  CHECK(text.find('^') != std::string::npos);
}

TEST_CASE("codes are unique and in order") {
  const auto table = code_table();
  CHECK(std::is_sorted(table.begin(), table.end(),
                       [](const CodeInfo& a, const CodeInfo& b) { return a.code < b.code; }));
  CHECK(std::adjacent_find(table.begin(), table.end(), [](const CodeInfo& a, const CodeInfo& b) {
          return a.code == b.code;
        }) == table.end());
  CHECK(code_name(Code::unknown_key) == "FP020");
}

TEST_CASE("the gravest code decides the exit code") {
  CHECK(exit_code({}) == 0);
  CHECK(exit_code({error(Code::usage, "u")}) == 2);
  CHECK(exit_code({error(Code::usage, "u"), error(Code::unknown_name, "n")}) == 3);
  Diagnostic warning = error(Code::unknown_name, "n");
  warning.severity = Severity::warning;
  CHECK(exit_code({warning}) == 0);
}

TEST_CASE("the nearest name is found and a far one is not") {
  const std::vector<std::string> names{"p4d.24xlarge", "p5.48xlarge", "p5en.48xlarge"};
  CHECK(nearest("p5.48large", names) == "p5.48xlarge");
  CHECK(nearest("P5EN.48XLARGE", names) == "p5en.48xlarge");
  CHECK_FALSE(nearest("banana", names));
  // One exchange of neighbours is one edit, nearer than the two substitutions to "bc".
  CHECK(nearest("ab", std::vector<std::string>{"bc", "ba"}) == "ba");
  CHECK(suggest("banana", names) == "known: p4d.24xlarge, p5.48xlarge, p5en.48xlarge");
  CHECK(suggest("x", {}) == "");
}

}  // namespace diagnostic_test
