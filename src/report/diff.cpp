#include "flowplan/report/diff.hpp"

#include <cmath>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "flowplan/report/format.hpp"
#include "flowplan/report/saved.hpp"
#include "json_format.hpp"

namespace flowplan::report {

namespace {

using planner::Difference;

constexpr std::size_t most_terms = 12;

std::string mark(bool before, bool after) {
  if (!before) return "+";
  return after ? "~" : "-";
}

std::string signed_duration(Seconds time) {
  return (time.value() < 0.0 ? "-" : "+") + duration(Seconds(std::abs(time.value())));
}

std::string factor_text(const std::optional<double>& factor) {
  return factor ? fmt::format("{} x", significant(*factor)) : "";
}

/// The whole time before and after, and the term behind most of the change.
std::string headline(const Difference& difference) {
  const Seconds before = difference.base.time.time(), after = difference.fresh.time.time();
  if (!difference.base.feasible || !difference.fresh.feasible) {
    if (difference.base.feasible) return "The new one does not fit: " + difference.fresh.reason;
    if (difference.fresh.feasible) return "The base does not fit, the new one does.";
    return "Neither fits.";
  }
  if (before == after) return fmt::format("Both take {}.", duration(after));
  std::string text = fmt::format("{} -> {} ({} x)", duration(before), duration(after),
                                 significant(after / before));
  if (!difference.terms.empty()) {
    const planner::TermChange& first = difference.terms.front();
    text += fmt::format(", most of it: {} {}", first.label, signed_duration(first.difference()));
    const std::string& limit = first.fresh ? first.fresh_limit : first.base_limit;
    if (!limit.empty()) text += fmt::format(" (limited by {})", limit);
  }
  return text;
}

Section inputs(const Difference& difference) {
  Section section{"Inputs", {}, {}, {}};
  if (!difference.inputs_comparable) {
    section.remarks.emplace_back(
        "not compared: one is a scenario, the other a saved result with its defaults filled in");
    return section;
  }
  if (difference.inputs.empty()) {
    section.remarks.emplace_back("no difference");
    return section;
  }
  section.table = Table{{{"", false}, {"path", false}, {"base", false}, {"new", false}}, {}};
  for (const planner::InputChange& change : difference.inputs) {
    section.table->rows.push_back({mark(change.base.has_value(), change.fresh.has_value()),
                                   change.path, change.base.value_or("-"),
                                   change.fresh.value_or("-")});
  }
  return section;
}

Section metric_section(const Difference& difference) {
  Section section{"Metrics", {}, {}, {}};
  section.table = Table{{{"", false}, {"metric", false}, {"base"}, {"new"}, {"factor"}}, {}};
  for (const planner::MetricChange& change : difference.metrics) {
    const auto unit = find_metric(change.id)->unit;
    const auto shown = [&](const std::optional<double>& value) {
      return value ? metric_value(*value, unit) : std::string("-");
    };
    const bool same = change.base == change.fresh;
    section.table->rows.push_back(
        {same ? "" : mark(change.base.has_value(), change.fresh.has_value()), change.id,
         shown(change.base), shown(change.fresh), same ? "" : factor_text(change.factor())});
  }
  return section;
}

Section terms(const Difference& difference) {
  Section section{"What moved", {}, {}, {}};
  section.table = Table{
      {{"", false}, {"term", false}, {"base"}, {"new"}, {"change"}, {"limited by", false}}, {}};
  for (std::size_t i = 0; i < std::min(difference.terms.size(), most_terms); ++i) {
    const planner::TermChange& term = difference.terms[i];
    const auto shown = [](const std::optional<Seconds>& time) {
      return time ? duration(*time) : std::string("-");
    };
    std::string limit = term.fresh ? term.fresh_limit : term.base_limit;
    if (term.base && term.fresh && term.base_limit != term.fresh_limit)
      limit = fmt::format("{} -> {}", term.base_limit, term.fresh_limit);
    section.table->rows.push_back({mark(term.base.has_value(), term.fresh.has_value()), term.label,
                                   shown(term.base), shown(term.fresh),
                                   signed_duration(term.difference()), limit});
  }
  if (difference.terms.size() > most_terms)
    section.remarks.push_back(
        fmt::format("and {} smaller ones", difference.terms.size() - most_terms));
  return section;
}

Section storage_section(const Difference& difference) {
  constexpr double gigabyte = 1e9;
  Section section{"Links of storage that differ", {}, {}, {}};
  section.table = Table{{{"", false},
                         {"path", false},
                         {"link", false},
                         {"base, GB/s"},
                         {"used"},
                         {"new, GB/s"},
                         {"used"}},
                        {}};
  const auto rate = [](const std::optional<planner::StorageLink>& link) {
    return link ? significant(link->ceiling_bytes_per_s / gigabyte) : std::string("-");
  };
  const auto used = [](const std::optional<planner::StorageLink>& link) {
    return link ? percent(link->utilisation) : std::string("-");
  };
  for (const planner::LinkChange& change : difference.links) {
    section.table->rows.push_back({mark(change.base.has_value(), change.fresh.has_value()),
                                   change.path, change.label, rate(change.base), used(change.base),
                                   rate(change.fresh), used(change.fresh)});
  }
  section.remarks.emplace_back(
      "a rate is what all nodes would move if the link were the only limit; the full one limits");
  return section;
}

Json link_json(const std::optional<planner::StorageLink>& link) {
  if (!link) return nullptr;
  return {{"ceiling_bytes_per_s", link->ceiling_bytes_per_s}, {"utilisation", link->utilisation}};
}

Json optional_json(const auto& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json seconds_json(const std::optional<Seconds>& time) {
  return time ? Json(time->value()) : Json(nullptr);
}

Json side_json(const planner::Side& side) {
  Json json{{"file", side.file}, {"name", side.name}, {"feasible", side.feasible}};
  if (!side.feasible) json["reason"] = side.reason;
  json["time_s"] = side.time.time().value();
  return json;
}

}  // namespace

Document diff(const Difference& difference) {
  Document document;
  document.title = fmt::format("{} -> {}", difference.base.name, difference.fresh.name);
  document.lead = headline(difference);
  document.sections.push_back(inputs(difference));
  document.sections.push_back(metric_section(difference));
  if (!difference.terms.empty()) document.sections.push_back(terms(difference));
  if (!difference.links.empty()) document.sections.push_back(storage_section(difference));
  return document;
}

std::string diff_json(const Difference& difference) {
  Json json{{"format_version", result_format_version},
            {"kind", "diff"},
            {"base", side_json(difference.base)},
            {"new", side_json(difference.fresh)}};
  Json inputs = Json::array();
  for (const planner::InputChange& change : difference.inputs)
    inputs.push_back({{"path", change.path},
                      {"base", change.base ? Json::parse(*change.base) : Json(nullptr)},
                      {"new", change.fresh ? Json::parse(*change.fresh) : Json(nullptr)}});
  json["inputs"] = std::move(inputs);
  Json metrics = Json::array();
  for (const planner::MetricChange& change : difference.metrics)
    metrics.push_back({{"metric", change.id},
                       {"unit", find_metric(change.id)->unit},
                       {"base", optional_json(change.base)},
                       {"new", optional_json(change.fresh)},
                       {"factor", optional_json(change.factor())}});
  json["metrics"] = std::move(metrics);
  Json terms = Json::array();
  for (const planner::TermChange& term : difference.terms)
    terms.push_back({{"id", term.id},
                     {"label", term.label},
                     {"base_s", seconds_json(term.base)},
                     {"new_s", seconds_json(term.fresh)},
                     {"change_s", term.difference().value()},
                     {"base_limit", term.base_limit},
                     {"new_limit", term.fresh_limit}});
  json["terms"] = std::move(terms);
  Json links = Json::array();
  for (const planner::LinkChange& change : difference.links)
    links.push_back({{"path", change.path},
                     {"link", change.label},
                     {"base", link_json(change.base)},
                     {"new", link_json(change.fresh)}});
  json["storage_links"] = std::move(links);
  json["report"] = document_json(report::diff(difference));
  return json.dump(2) + "\n";
}

}  // namespace flowplan::report
