#include "figure_lines.hpp"

#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace flowplan::accuracy {
namespace {

std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump();
}

}  // namespace

double four_digits(double value) {
  constexpr int digits = 4;
  return std::stod(fmt::format("{:.{}g}", value, digits));
}

void FigureLines::put(const std::string& name, std::size_t index, double value, std::string what) {
  const catalog::Constants::Entry& old = *set_.find(name);
  if (!written_.contains(name)) {
    names_.push_back(name);
    written_[name] = {old.values, old.source.note};
  }
  Written& to = written_[name];
  to.values[index] = value;
  if (old.values.size() > 1) what = fmt::format("[{}] {}", index, what);
  to.note += (to.note.empty() ? "" : "; ") + what;
}

std::string FigureLines::set() const {
  std::string lines;
  for (const std::string& name : names_) {
    const Written& figure = written_.at(name);
    const std::string numbers = fmt::format("{}", fmt::join(figure.values, ", "));
    lines += fmt::format(
        "{}        {}: [{}, \"fit\", {}]", lines.empty() ? "" : ",\n", quoted(name),
        set_.table(name).size() > 1 ? fmt::format("[{}]", numbers) : numbers, quoted(figure.note));
  }
  return fmt::format(R"(    {{
      "id": {},
      "kind": {},
      "figures": {{
{}
      }}
    }})",
                     quoted(set_.id()), quoted(set_.kind()), lines);
}

std::string overlay_of(const std::string& about, const std::vector<std::string>& sets) {
  return fmt::format(R"({{
  "sources": {{
    "fit": {}
  }},
  "constants": [
{}
  ]
}}
)",
                     quoted(about), fmt::join(sets, ",\n"));
}

}  // namespace flowplan::accuracy
