#include "trace_line.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <limits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace flowplan::inference {

namespace {

struct ColumnName {
  std::string_view name;
  TraceColumns::Field field;
  TraceColumns::Clock clock = TraceColumns::Clock::seconds;
};

constexpr std::array column_names = {
    ColumnName{"arrival_s", TraceColumns::arrival},
    ColumnName{"TIMESTAMP", TraceColumns::arrival, TraceColumns::Clock::date},
    ColumnName{"timestamp", TraceColumns::arrival, TraceColumns::Clock::milliseconds},
    ColumnName{"arrival_time_us", TraceColumns::arrival, TraceColumns::Clock::microseconds},
    ColumnName{"input_tokens", TraceColumns::input},
    ColumnName{"ContextTokens", TraceColumns::input},
    ColumnName{"input_length", TraceColumns::input},
    ColumnName{"output_tokens", TraceColumns::output},
    ColumnName{"GeneratedTokens", TraceColumns::output},
    ColumnName{"output_length", TraceColumns::output},
    ColumnName{"prefix_block_ids", TraceColumns::blocks},
    ColumnName{"hash_ids", TraceColumns::blocks},
    ColumnName{"prefix_group", TraceColumns::group},
    ColumnName{"prefix_length", TraceColumns::group_tokens},
    ColumnName{"adapter", TraceColumns::adapter},
};

const ColumnName* find_column(std::string_view name) {
  const auto found = std::find_if(column_names.begin(), column_names.end(),
                                  [name](const ColumnName& c) { return c.name == name; });
  return found == column_names.end() ? nullptr : &*found;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\"");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\"") - first + 1);
}

// The next field of a row, quotes taken off; the row is left behind the comma.
std::string_view next_field(std::string_view& row) {
  std::size_t end = 0;
  bool quoted = false;
  while (end < row.size() && (quoted || row[end] != ','))
    quoted ^= row[end++] == '"';
  const std::string_view field = row.substr(0, end);
  row.remove_prefix(std::min(end + 1, row.size()));
  return trimmed(field);
}

bool read_number(std::string_view text, double& number) {
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), number);
  return wrong == std::errc{} && end == text.data() + text.size();
}

// Seconds since 1970 of "2023-11-16 18:17:03.9799600", which may have a T and a time zone.
bool read_date(std::string_view text, double& seconds) {
  std::array<int, 5> part{};
  constexpr std::array<std::pair<std::size_t, std::size_t>, 5> place = {
      {{0, 4}, {5, 2}, {8, 2}, {11, 2}, {14, 2}}};
  if (text.size() < 19) return false;
  for (std::size_t i = 0; i < part.size(); ++i) {
    const char* begin = text.data() + place[i].first;
    const auto [end, wrong] = std::from_chars(begin, begin + place[i].second, part[i]);
    if (wrong != std::errc{} || end != begin + place[i].second) return false;
  }
  const std::size_t zone = text.find_first_not_of("0123456789.", 17);
  double second = 0.0;
  if (!read_number(text.substr(17, zone == std::string_view::npos ? zone : zone - 17), second))
    return false;
  const std::chrono::year_month_day date{std::chrono::year(part[0]),
                                         std::chrono::month(static_cast<unsigned>(part[1])),
                                         std::chrono::day(static_cast<unsigned>(part[2]))};
  if (!date.ok()) return false;
  const auto days = std::chrono::sys_days(date).time_since_epoch().count();
  seconds = static_cast<double>(days) * 86400.0 + part[3] * 3600.0 + part[4] * 60.0 + second;
  return true;
}

bool read_arrival(std::string_view text, TraceColumns::Clock clock, double& seconds) {
  if (clock == TraceColumns::Clock::date) return read_date(text, seconds);
  if (!read_number(text, seconds)) return false;
  if (clock == TraceColumns::Clock::milliseconds) seconds *= 1e-3;
  if (clock == TraceColumns::Clock::microseconds) seconds *= 1e-6;
  return true;
}

bool read_blocks(std::string_view text, std::vector<std::uint32_t>& blocks) {
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at < end) {
    if (*at == ' ') {
      ++at;
      continue;
    }
    std::uint32_t id = 0;
    const auto [after, wrong] = std::from_chars(at, end, id);
    if (wrong != std::errc{}) return false;
    blocks.push_back(id);
    at = after;
  }
  return true;
}

void clear(TraceLine& line) {
  line.blocks.clear();
  line.prefix_group.clear();
  line.adapter.clear();
  line.arrival_s = line.input_tokens = line.output_tokens = line.prefix_tokens = 0.0;
}

bool set_field(TraceColumns::Field field, TraceColumns::Clock clock, std::string_view text,
               TraceLine& line) {
  switch (field) {
    case TraceColumns::arrival:
      return read_arrival(text, clock, line.arrival_s);
    case TraceColumns::input:
      return read_number(text, line.input_tokens);
    case TraceColumns::output:
      return read_number(text, line.output_tokens);
    case TraceColumns::blocks:
      return read_blocks(text, line.blocks);
    case TraceColumns::group:
      line.prefix_group = text;
      return true;
    case TraceColumns::group_tokens:
      return text.empty() || read_number(text, line.prefix_tokens);
    case TraceColumns::adapter:
      line.adapter = text;
      return true;
    case TraceColumns::field_count:
      break;
  }
  return true;
}

std::string set_json(const ColumnName& column, const nlohmann::json& value, TraceLine& line) {
  if (column.field == TraceColumns::blocks && value.is_array()) {
    for (const nlohmann::json& id : value) {
      if (!id.is_number_unsigned() ||
          id.get<std::uint64_t>() > std::numeric_limits<std::uint32_t>::max())
        return fmt::format("{} must be whole numbers below 2^32", column.name);
      line.blocks.push_back(id.get<std::uint32_t>());
    }
    return {};
  }
  const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
  if (set_field(column.field, column.clock, text, line)) return {};
  return fmt::format("{} is {}", column.name, text);
}

}  // namespace

std::string TraceColumns::missing(bool needs_arrivals) const {
  if (needs_arrivals && !column[arrival]) return "arrival_s";
  if (!column[input]) return "input_tokens";
  return column[output] ? "" : "output_tokens";
}

TraceColumns trace_columns(std::string_view header) {
  TraceColumns columns;
  for (std::size_t at = 0; !header.empty(); ++at) {
    const ColumnName* known = find_column(next_field(header));
    if (known == nullptr || columns.column[known->field]) continue;
    columns.column[known->field] = at;
    if (known->field == TraceColumns::arrival) columns.clock = known->clock;
  }
  return columns;
}

std::string read_csv_line(std::string_view row, const TraceColumns& columns, TraceLine& line) {
  clear(line);
  std::array<bool, TraceColumns::field_count> seen{};
  for (std::size_t at = 0; !row.empty(); ++at) {
    const std::string_view text = next_field(row);
    for (std::size_t f = 0; f < columns.column.size(); ++f) {
      if (columns.column[f] != at) continue;
      seen[f] = true;
      if (!set_field(static_cast<TraceColumns::Field>(f), columns.clock, text, line))
        return fmt::format("column {} is \"{}\"", at + 1, text);
    }
  }
  for (const TraceColumns::Field field : {TraceColumns::input, TraceColumns::output})
    if (!seen[field]) return "the row has too few columns";
  return {};
}

std::string read_json_line(std::string_view row, bool needs_arrivals, TraceLine& line) {
  clear(line);
  const nlohmann::json object = nlohmann::json::parse(row, nullptr, false);
  if (!object.is_object()) return "the line is no JSON object";
  TraceColumns columns;
  for (const auto& [key, value] : object.items()) {
    const ColumnName* known = find_column(key);
    if (known == nullptr) continue;
    columns.column[known->field] = 0;
    std::string wrong = set_json(*known, value, line);
    if (!wrong.empty()) return wrong;
  }
  const std::string missing = columns.missing(needs_arrivals);
  return missing.empty() ? missing : fmt::format("the object has no {}", missing);
}

}  // namespace flowplan::inference
