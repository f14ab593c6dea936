#include <array>
#include <string_view>

#include <fmt/format.h>

#include "flowplan/export/observation.hpp"

namespace flowplan::exporting {

namespace {

/// Units that a name may end in; a longer one first where one ends in another.
constexpr std::array<std::string_view, 7> units{
    "bytes_per_second", "seconds", "bytes", "ratio", "usd", "days", "kwh"};

std::string_view unit_of_name(std::string_view name) {
  for (const std::string_view unit : units)
    if (name.size() > unit.size() + 1 && name.ends_with(unit) &&
        name[name.size() - unit.size() - 1] == '_')
      return unit;
  return {};
}

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '\n') {
      result += "\\n";
      continue;
    }
    if (c == '\\' || c == '"') result += '\\';
    result += c;
  }
  return result;
}

class Exposition {
 public:
  Exposition(const Observation& seen, std::optional<long long> timestamp) : seen_(seen) {
    if (timestamp) time_ = fmt::format(" {}", *timestamp);
  }

  std::string text() {
    text_ += "# TYPE flowplan_scenario info\n# HELP flowplan_scenario What is predicted.\n";
    text_ += fmt::format(
        "flowplan_scenario_info{{scenario=\"{}\",title=\"{}\",instance_type=\"{}\",model=\"{}\"}} "
        "1{}\n",
        escaped(seen_.slug), escaped(seen_.title), escaped(seen_.instance), escaped(seen_.model),
        time_);
    for (const Prediction& one : seen_.predictions)
      sample(one);
    return text_ + "# EOF\n";
  }

 private:
  /// Samples of one family stand together, below its description.
  void sample(const Prediction& one) {
    if (one.name != last_) {
      text_ += fmt::format("# TYPE {} gauge\n", one.name);
      if (const auto unit = unit_of_name(one.name); !unit.empty())
        text_ += fmt::format("# UNIT {} {}\n", one.name, unit);
      text_ += fmt::format("# HELP {} {}\n", one.name, escaped(one.help));
      last_ = one.name;
    }
    const std::string tier = one.tier.empty() ? "" : fmt::format(",tier=\"{}\"", one.tier);
    text_ += fmt::format("{}{{scenario=\"{}\"{}}} {}{}\n", one.name, escaped(seen_.slug), tier,
                         one.value, time_);
  }

  const Observation& seen_;
  std::string text_, time_, last_;
};

}  // namespace

std::string openmetrics(const Observation& observation, std::optional<long long> timestamp) {
  return Exposition(observation, timestamp).text();
}

}  // namespace flowplan::exporting
