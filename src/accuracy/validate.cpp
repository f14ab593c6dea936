#include "flowplan/accuracy/validate.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <string_view>
#include <utility>

#include "flowplan/base/assert.hpp"
#include "flowplan/base/text_file.hpp"
#include "left_out.hpp"

namespace flowplan::accuracy {

namespace {

constexpr std::size_t max_measurement_bytes = std::size_t{256} << 20;

/// A format of measurements, known by columns that no other format has.
struct Format {
  std::string_view name;
  std::vector<std::string_view> columns;
  std::vector<Row> (*predict)(const catalog::Catalog&, const CsvTable&);
};

const std::vector<Format>& formats() {
  static const std::vector<Format> known{
      {"collectives", {"collective", "instance_or_system", "size_bytes"}, collective_rows},
      {"custom all-reduce",
       {"num_gpus", "message_size", "allreduce_dtype", "latency"},
       custom_all_reduce_rows},
      {"training", {"global_batch", "micro_batch", "metric", "value"}, training_rows},
      {"serving, closed loop",
       {"concurrency", "batch_size", "ttft_ms", "tpot_ms"},
       serving_latency_rows},
      {"serving, throughput",
       {"precision_w", "batch_or_concurrency", "metric", "value"},
       serving_throughput_rows},
      {"serving, open loop",
       {"arrival_rate_rps", "isl_mean", "osl_mean", "metric", "value"},
       serving_run_rows},
      {"kernels of GEMMs", {"gemm_dtype", "m", "n", "k", "latency"}, gemm_rows},
      {"kernels of experts", {"moe_dtype", "num_tokens", "inter_size", "latency"}, experts_rows},
      {"kernels of latent attention", {"mla_dtype", "num_heads", "isl", "latency"}, latent_rows},
      {"kernels of attention", {"num_key_value_heads", "isl", "step", "latency"}, attention_rows},
  };
  return known;
}

const Format* format_of(const CsvTable& table) {
  for (const Format& format : formats()) {
    const bool all =
        std::all_of(format.columns.begin(), format.columns.end(),
                    [&](std::string_view name) { return table.column(name).has_value(); });
    if (all) return &format;
  }
  return nullptr;
}

Diagnostic unknown_format(const std::string& path) {
  std::string known;
  for (const Format& format : formats()) {
    known += known.empty() ? "known: " : "; ";
    known += std::string(format.name) + " (";
    for (std::size_t i = 0; i < format.columns.size(); ++i)
      known += (i > 0 ? ", " : "") + std::string(format.columns[i]);
    known += ")";
  }
  Place place;
  place.file = path;
  place.line = 1;
  place.column = 1;
  return error(Code::wrong_kind_of_file, std::move(place),
               "no table of measurements: no format has such a header", std::move(known));
}

/// Only the table's first line: the rows of a file of another kind are not worth a word.
bool has_known_header(std::string_view text) {
  const std::size_t start = std::min(text.find_first_not_of("\r\n"), text.size());
  const auto header = CsvTable::parse(text.substr(start, text.find('\n', start) - start), "");
  return header && format_of(*header) != nullptr;
}

/// Linear between the nearest ranks, as numpy's default.
double quantile(const std::vector<double>& sorted, double q) {
  const double at = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(std::floor(at));
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

/// Rows of the file of which something is predicted; each gives `each` details in a row.
std::size_t rows_predicted(const std::vector<Row>& details, std::size_t each) {
  std::size_t count = 0;
  for (std::size_t first = 0; first < details.size(); first += each) {
    const auto begin = details.begin() + static_cast<std::ptrdiff_t>(first);
    count += std::any_of(begin, begin + static_cast<std::ptrdiff_t>(each),
                         [](const Row& row) { return row.predicted.has_value(); })
                 ? 1
                 : 0;
  }
  return count;
}

/// Rows of the file of which nothing is predicted, by the reason.
std::vector<std::pair<std::string, std::size_t>> skipped(const std::vector<Row>& details,
                                                         std::size_t each) {
  std::map<std::string, std::size_t> counts;
  for (std::size_t first = 0; first < details.size(); first += each) {
    const auto begin = details.begin() + static_cast<std::ptrdiff_t>(first);
    if (std::none_of(begin, begin + static_cast<std::ptrdiff_t>(each),
                     [](const Row& row) { return row.predicted.has_value(); }))
      ++counts[begin->skipped];
  }
  std::vector<std::pair<std::string, std::size_t>> sorted(counts.begin(), counts.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  return sorted;
}

/// Every value of every key of `by` is a group; the keys in the order in which they first appear.
std::vector<Report::Group> grouped(const std::vector<const Row*>& rows) {
  std::vector<std::string> keys;
  std::map<std::string, std::map<std::string, std::vector<const Row*>>> by;
  for (const Row* row : rows) {
    for (const auto& [key, value] : row->by) {
      if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
      by[key][value].push_back(row);
    }
  }
  std::vector<Report::Group> groups;
  for (const std::string& key : keys) {
    for (const auto& [value, members] : by[key])
      groups.push_back({{{key, value}}, score(members)});
  }
  return groups;
}

/// Of the columns `source` and `date`, where the table has them.
std::vector<Report::Source> sources_of(const CsvTable& table) {
  std::map<std::string, Report::Source> found;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const std::string& name = table.text(row, "source");
    const std::string& date = table.text(row, "date");
    if (name.empty()) continue;
    Report::Source& source = found[name];
    source.name = name;
    ++source.rows;
    if (date.empty()) continue;
    if (source.first_date.empty() || date < source.first_date) source.first_date = date;
    source.last_date = std::max(source.last_date, date);
  }
  std::vector<Report::Source> sources;
  for (auto& [name, source] : found)
    sources.push_back(std::move(source));
  return sources;
}

}  // namespace

double Row::ape() const {
  FLOWPLAN_ASSERT(predicted.has_value());
  return 100.0 * std::abs(*predicted - measured) / std::abs(measured);
}

bool Row::in_band() const {
  FLOWPLAN_ASSERT(predicted.has_value() && band.has_value());
  return measured >= *predicted * band->low && measured <= *predicted * band->high;
}

Score score(const std::vector<const Row*>& rows) {
  Score score;
  score.n = rows.size();
  if (rows.empty()) return score;
  std::vector<double> errors, left_out;
  double bias = 0.0;
  for (const Row* row : rows) {
    errors.push_back(row->ape());
    if (row->left_out_percent) left_out.push_back(std::abs(*row->left_out_percent));
    if (row->band) {
      ++score.banded;
      if (row->in_band()) ++score.in_band;
    }
    bias += 100.0 * (*row->predicted / row->measured - 1.0);
  }
  std::sort(errors.begin(), errors.end());
  double sum = 0.0;
  for (const double e : errors)
    sum += e;
  const auto n = static_cast<double>(errors.size());
  score.median_ape = quantile(errors, 0.5);
  score.mean_ape = sum / n;
  score.p90_ape = quantile(errors, 0.9);
  score.bias = bias / n;
  score.left_out = left_out.size();
  if (!left_out.empty()) {
    std::sort(left_out.begin(), left_out.end());
    score.left_out_median_ape = quantile(left_out, 0.5);
    score.left_out_p90_ape = quantile(left_out, 0.9);
  }
  return score;
}

Result<Report> validate(const catalog::Catalog& catalog, const std::string& path,
                        const std::vector<std::string>& left_out) {
  const auto text = read_text(path, max_measurement_bytes);
  if (!text) return fail(text.error());
  // Of two errors of a row the later table's counts: those asked for go before the one beside.
  std::vector<std::string> tables;
  if (std::string beside = left_out_beside(path); path != "-" && !beside.empty())
    tables.push_back(std::move(beside));
  tables.insert(tables.end(), left_out.begin(), left_out.end());
  auto report = validate_text(catalog, *text, path == "-" ? "<stdin>" : path, tables);
  if (report) report->file = path;
  return report;
}

Result<Report> validate_text(const catalog::Catalog& catalog, std::string_view text,
                             const std::string& file, const std::vector<std::string>& left_out) {
  if (!text.empty() && !has_known_header(text)) return fail(unknown_format(file));
  const auto table = CsvTable::parse(text, file);
  if (!table) return fail(table.error());
  const Format* format = format_of(*table);
  if (format == nullptr) return fail(unknown_format(file));
  Report report;
  report.file = file;
  report.details = format->predict(catalog, *table);
  report.rows = table->rows();
  for (const std::string& errors : left_out)
    if (auto read = add_left_out(errors, report.details); !read) return fail(read.error());
  std::vector<const Row*> predicted;
  for (const Row& row : report.details) {
    if (row.predicted) predicted.push_back(&row);
  }
  FLOWPLAN_ASSERT(report.rows == 0 || report.details.size() % report.rows == 0);
  const std::size_t each =
      std::max<std::size_t>(1, report.rows == 0 ? 1 : report.details.size() / report.rows);
  report.predicted = rows_predicted(report.details, each);
  report.skipped = skipped(report.details, each);
  report.overall = score(predicted);
  report.sources = sources_of(*table);
  report.groups = grouped(predicted);
  return report;
}

}  // namespace flowplan::accuracy
