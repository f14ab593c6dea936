#include "link_loads.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "flowplan/report/format.hpp"

namespace flowplan::report {

namespace {

using scenario::LinkLoad;

std::string share_text(std::optional<double> share) {
  return share ? percent(*share) : "not known";
}

std::string spoken_unit(const scenario::Answer& answer) {
  return answer.serving ? "the run" : "a step";
}

Chart loads_chart(const scenario::Answer& answer) {
  const std::vector<LinkLoad>& known = answer.links.known;
  Chart chart;
  chart.title = "Use of the links";
  chart.about = "Of their capacity. What is not known has no bar.";
  chart.values = {"% of capacity", false, 0.0, 100.0};
  ChartSeries all, then;
  all.name = "over " + spoken_unit(answer);
  then.name = "while it lasts";
  const auto drawn = [](std::optional<double> share) {
    constexpr double percents = 100.0;
    return share ? *share * percents : std::numeric_limits<double>::quiet_NaN();
  };
  for (const LinkLoad& load : known) {
    chart.categories.push_back(fmt::format("{}: {}", load.tier, load.what));
    all.y.push_back(drawn(load.over_all));
    then.y.push_back(drawn(load.while_it_is));
  }
  const bool whole = std::any_of(known.begin(), known.end(),
                                 [](const LinkLoad& load) { return load.over_all.has_value(); });
  if (whole) chart.series.push_back(std::move(all));
  chart.series.push_back(std::move(then));
  return chart;
}

}  // namespace

Section link_loads_section(const scenario::Answer& answer) {
  Section section{"Use of the links",
                  {},
                  Table{{{"tier", false},
                         {"loaded by", false},
                         {"over " + spoken_unit(answer)},
                         {"while it lasts"},
                         {"", false}},
                        {}},
                  answer.links.unknown};
  for (const LinkLoad& load : answer.links.known)
    section.table->rows.push_back({load.tier, load.what, share_text(load.over_all),
                                   share_text(load.while_it_is),
                                   Cell::bar(load.while_it_is.value_or(0.0))});
  if (answer.links.known.empty())
    section.table.reset();
  else
    section.charts.push_back(loads_chart(answer));
  if (answer.links.known.empty() && answer.links.unknown.empty())
    section.remarks.emplace_back("Nothing is sent between GPUs.");
  return section;
}

Json link_loads_json(const scenario::LinkLoads& loads) {
  const auto share = [](std::optional<double> one) { return one ? Json(*one) : Json(nullptr); };
  Json known = Json::array();
  for (const LinkLoad& load : loads.known)
    known.push_back({{"tier", load.tier},
                     {"load", load.what},
                     {"utilisation", share(load.over_all)},
                     {"utilisation_while_it_lasts", share(load.while_it_is)}});
  return {{"known", std::move(known)}, {"unknown", loads.unknown}};
}

}  // namespace flowplan::report
