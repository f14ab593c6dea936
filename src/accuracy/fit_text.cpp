#include <cmath>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "flowplan/accuracy/fit.hpp"

namespace flowplan::accuracy {
namespace {

using Json = nlohmann::ordered_json;

/// A figure of the overlay while it is put together: of a table several numbers may be new.
struct Written {
  std::vector<double> values;
  std::string note;
};

double rounded(double value) {
  constexpr int digits = 4;
  return std::stod(fmt::format("{:.{}g}", value, digits));
}

void add_note(std::string& note, const std::string& more) {
  note += (note.empty() ? "" : "; ") + more;
}

class FigureLines {
 public:
  explicit FigureLines(const catalog::Constants& set) : set_(set) {}

  void put(const std::string& name, std::size_t index, double value, std::string what) {
    const catalog::Constants::Entry& old = *set_.find(name);
    if (!written_.contains(name)) {
      names_.push_back(name);
      written_[name] = {old.values, old.source.note};
    }
    Written& to = written_[name];
    to.values[index] = value;
    if (old.values.size() > 1) what = fmt::format("[{}] {}", index, what);
    add_note(to.note, what);
  }

  [[nodiscard]] std::string text() const {
    std::string lines;
    for (const std::string& name : names_) {
      const Written& figure = written_.at(name);
      const std::string numbers = fmt::format("{}", fmt::join(figure.values, ", "));
      lines += fmt::format("{}        {}: [{}, \"fit\", {}]", lines.empty() ? "" : ",\n",
                           Json(name).dump(),
                           set_.table(name).size() > 1 ? fmt::format("[{}]", numbers) : numbers,
                           Json(figure.note).dump());
    }
    return lines;
  }

 private:
  const catalog::Constants& set_;
  std::vector<std::string> names_;
  std::map<std::string, Written> written_;
};

}  // namespace

std::string fit_overlay(const catalog::Constants& set, const FitReport& report,
                        std::string_view source) {
  FigureLines lines(set);
  for (const FittedFigure& figure : report.figures) {
    lines.put(
        figure.name, figure.index, rounded(figure.after),
        fmt::format("from {:.4g}, +-{:.1f} %, {} points{}", figure.before, 100.0 * figure.spread,
                    figure.points, figure.at_limit ? ", at the line rate" : ""));
  }
  for (const FittedBand& band : report.bands) {
    lines.put(std::string(band.figure.name), band.figure.index,
              std::ceil(10.0 * band.percent) / 10.0,
              fmt::format("p90 of {} points left out", band.points));
  }
  std::string about =
      fmt::format("flowplan fit: {}; {} points, {:.1f} % median and {:.1f} % p90 error", source,
                  report.after.n, report.after.median_ape, report.after.p90_ape);
  if (report.left_out_overall.n > 0) {
    about += fmt::format(", {:.1f} and {:.1f} % left out by whole groups",
                         report.left_out_overall.median_ape, report.left_out_overall.p90_ape);
  }
  return fmt::format(R"({{
  "sources": {{
    "fit": {}
  }},
  "constants": [
    {{
      "id": {},
      "kind": {},
      "figures": {{
{}
      }}
    }}
  ]
}}
)",
                     Json(about).dump(), Json(set.id()).dump(), Json(set.kind()).dump(),
                     lines.text());
}

std::string fit_residuals(const FitReport& report) {
  std::string text =
      "id,group,operation,size_bytes,measured_us,in_sample_error_percent,left_out_error_percent\n";
  for (const Row& row : report.rows) {
    text += fmt::format("{},\"{}\",{},{},{:.6g},{:.1f},{}\n", row.id, row.by[0].second,
                        row.by[1].second, row.by[2].second, row.measured,
                        100.0 * (*row.predicted / row.measured - 1.0),
                        row.left_out_percent ? fmt::format("{:.1f}", *row.left_out_percent) : "");
  }
  return text;
}

}  // namespace flowplan::accuracy
