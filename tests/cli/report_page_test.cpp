// The HTML reports, looked at by a browser. Screenshots stay in the tests' temporary folder, as
// pages/NAME-VIEW.png.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include <catch2/catch.hpp>

#include "../missing_tool.hpp"
#include "browser.hpp"
#include "flowplan/report/html.hpp"
#include "program.hpp"

namespace report_page_test {

namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t largest_page = 2'000'000;

struct Page {
  std::string name;
  std::vector<std::string> args;
  int code = 0;
  bool charts = true;
};

Page ran(const std::string& scenario, int code = 0) {
  return {scenario, {"run", "scenarios/" + scenario + ".json"}, code};
}

const Browser::View desktop{1440, 900, false, false}, dark{1440, 900, true, false},
    phone{390, 844, false, true};

fs::path folder() {
  const fs::path path = fs::temp_directory_path() / "pages";
  fs::create_directories(path);
  return path;
}

std::string write_page(const Page& page) {
  const std::string file = (folder() / (page.name + ".html")).string();
  std::vector<std::string> args = page.args;
  args.insert(args.end(), {"-o", "html=" + file});
  const Ran done = flowplan_run(args);
  INFO(done.err);
  CHECK(done.code == page.code);
  CHECK(fs::file_size(file) < largest_page);
  return file;
}

/// What a page says of itself: what overflows, charts that are blank or without words or numbers,
/// parts without a heading.
const char* const self_test = R"js((() => {
  const faults = [];
  const root = document.documentElement;
  if (root.scrollWidth > window.innerWidth)
    faults.push(`overflows: ${root.scrollWidth} of ${window.innerWidth} px`);
  for (const canvas of document.querySelectorAll('canvas')) {
    const {width, height} = canvas;
    if (!canvas.getAttribute('aria-label')) faults.push(canvas.id + ' has no words');
    if (!canvas.closest('section').querySelector('table')) faults.push(canvas.id + ' has no table');
    if (width < 200 || height < 100) { faults.push(`${canvas.id} is ${width} x ${height}`); continue; }
    const pixels = canvas.getContext('2d').getImageData(0, 0, width, height).data;
    const colours = new Set();
    for (let i = 0; i < pixels.length; i += 4)
      if (pixels[i + 3] === 255) colours.add((pixels[i] << 16) | (pixels[i + 1] << 8) | pixels[i + 2]);
    if (colours.size < 3) faults.push(`${canvas.id} is blank: ${colours.size} colours`);
  }
  for (const section of document.querySelectorAll('main section'))
    if (!section.querySelector('h2').textContent) faults.push(section.id + ' has no heading');
  const ids = [...document.querySelectorAll('[id]')].map((one) => one.id);
  if (new Set(ids).size !== ids.length) faults.push('ids repeat');
  if (document.querySelectorAll('h1').length !== 1) faults.push('not one h1');
  if (performance.getEntriesByType('resource').length) faults.push('asked for something');
  return faults;
})())js";

const char* const count_charts = "document.querySelectorAll('canvas').length";
/// What Tab has to reach.
const char* const mark_stops = R"js((() => {
  const stops = [...document.querySelectorAll('a[href], summary, [tabindex="0"]')]
    .filter((one) => one.tagName === 'SUMMARY' || !one.closest('details:not([open])'));
  stops.forEach((one, i) => { one.dataset.stop = i; });
  return stops.length;
})())js";

void check_view(Browser& browser, const std::string& file, const Page& page,
                const Browser::View& view, const std::string& name) {
  INFO(page.name << ", " << name);
  browser.open(file, view);
  const auto faults = browser.evaluate(self_test);
  CHECK(faults.dump() == "[]");
  CHECK(browser.faults() == std::vector<std::string>{});
  browser.screenshot((folder() / (page.name + "-" + name + ".png")).string());
}

/// Tab reaches every link, table and chart; an arrow says a chart's value.
void check_keyboard(Browser& browser, const Page& page) {
  INFO(page.name);
  const int stops = browser.evaluate(mark_stops);
  std::set<std::string> reached;
  for (int i = 0; i < stops; ++i) {
    browser.press("Tab");
    reached.insert(browser.evaluate("document.activeElement.dataset.stop || 'none'"));
  }
  CHECK(reached.count("none") == 0);
  CHECK(static_cast<int>(reached.size()) == stops);
  if (browser.evaluate(count_charts) == 0) return;
  browser.evaluate("document.querySelector('canvas').focus()");
  browser.press("ArrowRight");
  CHECK(browser.evaluate("document.getElementById('spoken').textContent") != "");
}

void check_pages(const std::vector<Page>& pages, bool in_every_view) {
  const std::string place = folder().string();
  std::optional<Browser> browser = Browser::start(place);
  if (!browser) {
    missing_tool("no chromium is installed: the pages were not looked at");
    return;
  }
  for (const Page& page : pages) {
    const std::string file = write_page(page);
    check_view(*browser, file, page, desktop, "desktop");
    if (flowplan::report::has_charts() && page.code == 0 && page.charts)
      CHECK(browser->evaluate(count_charts) > 0);
    check_keyboard(*browser, page);
    check_view(*browser, file, page, phone, "phone");
    if (in_every_view) {
      check_view(*browser, file, page, dark, "dark");
      browser->print((folder() / (page.name + ".pdf")).string());
      CHECK(browser->faults() == std::vector<std::string>{});
    }
  }
}

const Page plan_page{"plan", {"plan", "scenarios/plan-llama3-70b.json"}};

}  // namespace

TEST_CASE("a browser shows reports without a fault", "[slow]") {
  check_pages({ran("pretrain-llama3-70b-p5"), ran("pretrain-llama3-405b-too-big", 4)}, true);
}

/// One that a check of its own expects not to fit.
bool is_meant_too_big(const fs::path& scenario) {
  std::ifstream in(scenario, std::ios::binary);
  const std::string text(std::istreambuf_iterator<char>(in), {});
  return contains(text, R"("expect": "infeasible")");
}

// A test of its own beside the others of this program (CMake: `pages`), because it takes a minute.
TEST_CASE("a browser shows the reports of all scenarios without a fault", "[.][slow][pages]") {
  std::vector<Page> pages;
  for (const auto& entry : fs::directory_iterator(FLOWPLAN_SOURCE_DIR "/scenarios")) {
    if (entry.path().extension() != ".json") continue;
    pages.push_back(ran(entry.path().stem().string(), is_meant_too_big(entry.path()) ? 4 : 0));
  }
  REQUIRE(pages.size() >= 19);
  std::sort(pages.begin(), pages.end(),
            [](const Page& a, const Page& b) { return a.name < b.name; });
  pages.push_back(plan_page);
  pages.push_back({"plan-serving", {"plan", "scenarios/plan-serve-llama3-70b.json"}});
  pages.push_back({"plan-none", {"plan", "scenarios/plan-llama3-70b.json", "--deadline", "1h"}, 4});
  pages.push_back({"sweep",
                   {"sweep", "scenarios/pretrain-llama3-70b-p5.json", "--vary",
                    "cluster.count=16:128:x2", "--vary", "workload.micro_batch=1,2"}});
  pages.push_back(
      {"diff",
       {"diff", "scenarios/pretrain-llama3-70b-p5.json", "--set", "workload.global_batch=2048"},
       0,
       false});
  check_pages(pages, false);
}

}  // namespace report_page_test
