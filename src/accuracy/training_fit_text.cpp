#include <string>
#include <vector>

#include <fmt/format.h>

#include "figure_lines.hpp"
#include "flowplan/accuracy/training_fit.hpp"

namespace flowplan::accuracy {

std::string training_fit_overlay(const catalog::Catalog& catalog, const StepFitReport& report,
                                 std::string_view source) {
  std::vector<std::string> sets;
  for (std::size_t i = 0; i < report.figures.size();) {
    const std::string& id = report.figures[i].set;
    FigureLines lines(**catalog.constants(id));
    for (; i < report.figures.size() && report.figures[i].set == id; ++i) {
      const StepFigure& figure = report.figures[i];
      lines.put(figure.name, 0, four_digits(figure.after),
                fmt::format("from {:.4g}, +-{:.0f} %, {} rows", figure.before,
                            100.0 * figure.spread, figure.points));
    }
    sets.push_back(lines.set());
  }
  const Score& fitted = report.overall.fitted;
  return overlay_of(fmt::format("flowplan fit: {}; {} rows, {:.1f} % median and {:.1f} % p90 error",
                                source, fitted.n, fitted.median_ape, fitted.p90_ape),
                    sets);
}

std::string training_fit_residuals(const StepFitReport& report, bool by_source) {
  std::string text = "id,part,measured,in_sample_error_percent,left_out_error_percent\n";
  for (std::size_t i = 0; i < report.rows.size(); ++i) {
    const Row& row = report.rows[i];
    std::string part;
    for (const auto& [key, value] : row.by)
      if (key == "part") part = value;
    std::string left;
    if (row.left_out_percent) {
      left = fmt::format("{:.1f}",
                         by_source ? report.source_left_out_percent[i] : *row.left_out_percent);
    }
    text += fmt::format("{},\"{}\",{:.6g},{:.1f},{}\n", row.id, part, row.measured,
                        100.0 * (*row.predicted / row.measured - 1.0), left);
  }
  return text;
}

}  // namespace flowplan::accuracy
