#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "figure_lines.hpp"
#include "flowplan/accuracy/fit.hpp"

namespace flowplan::accuracy {

std::string fit_overlay(const catalog::Constants& set, const FitReport& report,
                        std::string_view source) {
  FigureLines lines(set);
  for (const FittedFigure& figure : report.figures) {
    lines.put(
        figure.name, figure.index, four_digits(figure.after),
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
  return overlay_of(about, {lines.set()});
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
