#include <fmt/format.h>

#include "flowplan/report/format.hpp"
#include "flowplan/report/plan.hpp"

namespace flowplan::report {

Document compute_optimal(Flops compute, const std::vector<planner::OptimalModel>& models) {
  Document document;
  document.title = fmt::format("Compute-optimal model for {:.3g} FLOPs", compute.value());
  document.lead =
      "Laws fitted to training runs, not promises: they minimise training loss alone. A model that "
      "will serve many tokens is better smaller and trained for longer.";
  Section section;
  Table table;
  table.columns = {{"law", false},       {"parameters"},  {"tokens"},
                   {"tokens/parameter"}, {"loss (nats)"}, {"within its range", false}};
  for (const planner::OptimalModel& one : models) {
    table.rows.push_back({std::string(planner::facts(one.law).title), short_count(one.parameters),
                          short_count(one.tokens), significant(one.tokens_per_parameter(), 3),
                          significant(one.loss, 4), one.inside ? "yes" : "NO: extrapolated"});
  }
  section.table = std::move(table);
  section.remarks.emplace_back(
      "losses of different laws are of different data and tokenizers: do "
      "not compare them");
  document.sections.push_back(std::move(section));
  for (const planner::OptimalModel& one : models) {
    const planner::LawFacts& law = planner::facts(one.law);
    Section about;
    about.title = std::string(law.title);
    about.facts = {{"formula", std::string(law.formula)},
                   {"fitted on", std::string(law.range)},
                   {"source", std::string(law.source)}};
    document.sections.push_back(std::move(about));
  }
  return document;
}

}  // namespace flowplan::report
