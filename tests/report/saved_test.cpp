#include "flowplan/report/saved.hpp"

#include <limits>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "flowplan/report/html.hpp"
#include "flowplan/report/markdown.hpp"
#include "flowplan/report/text.hpp"

namespace saved_test {

using namespace flowplan;
using namespace flowplan::report;

namespace {

/// A document that has everything that a document can have.
Document everything() {
  Section section{"Parts <b>",
                  {{"whole", "2.0 s"}},
                  Table{{{"part", false}, {"s"}, {"", false}}, {}},
                  {"a remark & more"}};
  section.table->rows.push_back({Cell::at_depth("all", 0), "2.0", Cell::bar(1.0)});
  section.table->rows.push_back({Cell::at_depth("half", 1), "1.0", Cell::bar(1.0 / 3.0)});
  Chart chart;
  chart.kind = Chart::Kind::spans;
  chart.title = "A chart";
  chart.about = "Spans </script>.";
  chart.values = {"ms", true, 0.1, {}};
  chart.categories = {"one"};
  ChartSeries series;
  series.name = "s";
  series.x = {0.0};
  series.low = {0.1};
  series.high = {1.0 / 3.0};
  series.labels = {"l"};
  series.tone = "muted";
  chart.series.push_back(series);
  chart.markers.push_back({0.2, "here"});
  section.charts.push_back(chart);
  section.picture = "<?xml version=\"1.0\"?><svg><g/></svg>";
  section.picture_about = "a picture";
  section.detail = true;
  Document document{"Title", "Lead.", {section, {"", {{"a", "b"}}, {}, {}}}};
  document.verdict = Verdict{false, "It does not."};
  document.highlights = {{"time", "2 s", "1 s to 3 s", Highlight::Range{1.0, 2.0, 3.0}},
                         {"words", "none", {}}};
  document.data = Table{{{"metric", false}, {"value"}}, {{"a,b", "0.1"}, {"say \"x\"", "2"}}};
  return document;
}

Document again(const Document& document) {
  const nlohmann::ordered_json result{{"format_version", 1}, {"report", document_json(document)}};
  const auto read = JsonDocument::parse(result.dump(2) + "\n", "result.json");
  REQUIRE(read);
  CHECK(saved_json(*read) == result.dump(2) + "\n");
  const auto saved = saved_document(*read);
  REQUIRE(saved);
  return *saved;
}

Diagnostics faults_of(const std::string& text) {
  const auto read = JsonDocument::parse(text, "result.json");
  REQUIRE(read);
  const auto saved = saved_document(*read);
  REQUIRE_FALSE(saved);
  return saved.error();
}

}  // namespace

TEST_CASE("a saved report shows the same bytes in every format") {
  const Document document = everything(), saved = again(document);
  CHECK(to_html(saved) == to_html(document));
  CHECK(to_text(saved) == to_text(document));
  CHECK(to_markdown(saved) == to_markdown(document));
  CHECK(to_csv(saved) == to_csv(document));
}

TEST_CASE("what is not finite becomes null and is read again") {
  Document document = everything();
  document.sections[0].charts[0].series[0].high = {std::numeric_limits<double>::infinity()};
  CHECK(again(document).sections[0].charts[0].series[0].high.size() == 1);
  CHECK(document_json(document).dump().find("\"high\":[null]") != std::string::npos);
}

TEST_CASE("files that are no results, or damaged ones, are refused with a place") {
  CHECK(faults_of("{}").front().code == Code::wrong_kind_of_file);
  CHECK(faults_of(R"({"format_version": 1})").front().code == Code::wrong_kind_of_file);
  CHECK(faults_of(R"({"format_version": 2, "report": {}})").front().place.pointer ==
        "/format_version");
  CHECK(faults_of(R"({"format_version": 1, "report": {"title": 3}})").front().place.pointer ==
        "/report");
}

TEST_CASE("CSV quotes what has commas and quotes; without exact numbers it has the tables") {
  Document document = everything();
  CHECK(to_csv(document) == "metric,value\n\"a,b\",0.1\n\"say \"\"x\"\"\",2\n");
  document.data.reset();
  CHECK(to_csv(document).starts_with("part,s,\nall,2.0,1\nhalf,1.0,0.333"));
}

TEST_CASE("HTML escapes texts, and numbers of charts cannot end their script") {
  const std::string page = to_html(everything());
  CHECK(page.find("Parts &lt;b&gt;") != std::string::npos);
  CHECK(page.find("Parts <b>") == std::string::npos);
  CHECK(page.find("a remark &amp; more") != std::string::npos);
  CHECK(page.find("<?xml") == std::string::npos);
  CHECK(page.find("<svg><g/></svg>") != std::string::npos);
  if (has_charts()) {
    CHECK(page.find("Spans \\u003c/script>.") != std::string::npos);
    CHECK(page.find("Spans </script>.") == std::string::npos);
  }
}

TEST_CASE("HTML has nothing that would be fetched") {
  const std::string page = to_html(everything());
  for (const char* source : {"src=\"http", "href=\"http", "@import", "url(http"})
    CHECK(page.find(source) == std::string::npos);
  CHECK(page.find("default-src 'none'") != std::string::npos);
}

TEST_CASE("sections of one title have addresses of their own") {
  Document document{"T", "", {{"Same", {{"a", "b"}}, {}, {}}, {"Same", {{"a", "b"}}, {}, {}}}};
  const std::string page = to_html(document);
  CHECK(page.find("id=\"part-same\"") != std::string::npos);
  CHECK(page.find("id=\"part-same-2\"") != std::string::npos);
}

TEST_CASE("a document without charts carries no library") {
  const Document plain{"T", "", {{"Only words", {{"a", "b"}}, {}, {}}}};
  CHECK(to_html(plain).size() < 40'000);
}

}  // namespace saved_test
