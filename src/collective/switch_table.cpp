#include <algorithm>
#include <cmath>

#include "flowplan/base/assert.hpp"
#include "flowplan/collective/tuner.hpp"

namespace flowplan::collective {
namespace {

/// A choice of two neighbouring rows, with where it starts in each: log2(bytes).
struct Aligned {
  const Switch* choice = nullptr;
  double a = 0.0, b = 0.0;
};

/// Sizes below a byte are all "from the start".
double log2_size(double bytes) {
  return std::log2(std::max(bytes, 1.0));
}

/// Largest size a choice can start at, for one that nothing follows.
constexpr double log2_unreached = 64.0;

double start_of(const SwitchRow& row, std::size_t i) {
  return i < row.switches.size() ? log2_size(row.switches[i].from_bytes) : log2_unreached;
}

/// Length of the longest common subsequence of the rows' tails.
std::vector<std::vector<int>> common_lengths(const SwitchRow& a, const SwitchRow& b) {
  std::vector<std::vector<int>> length(a.switches.size() + 1,
                                       std::vector<int>(b.switches.size() + 1, 0));
  for (std::size_t i = a.switches.size(); i-- > 0;) {
    for (std::size_t j = b.switches.size(); j-- > 0;) {
      length[i][j] = a.switches[i].name == b.switches[j].name
                         ? length[i + 1][j + 1] + 1
                         : std::max(length[i + 1][j], length[i][j + 1]);
    }
  }
  return length;
}

/// Pairs equal choices; one that only one row has is empty in the other, at its neighbour's start.
std::vector<Aligned> align(const SwitchRow& a, const SwitchRow& b) {
  const auto length = common_lengths(a, b);
  std::vector<Aligned> out;
  std::size_t i = 0, j = 0;
  while (i < a.switches.size() || j < b.switches.size()) {
    const bool both = i < a.switches.size() && j < b.switches.size();
    if (both && a.switches[i].name == b.switches[j].name) {
      out.push_back({&a.switches[i], start_of(a, i), start_of(b, j)});
      ++i, ++j;
    } else if (!both ? i < a.switches.size() : length[i + 1][j] >= length[i][j + 1]) {
      out.push_back({&a.switches[i], start_of(a, i), start_of(b, j)});
      ++i;
    } else {
      out.push_back({&b.switches[j], start_of(a, i), start_of(b, j)});
      ++j;
    }
  }
  return out;
}

bool same_choices(const SwitchRow& a, const SwitchRow& b) {
  return std::equal(a.switches.begin(), a.switches.end(), b.switches.begin(), b.switches.end(),
                    [](const Switch& x, const Switch& y) { return x.name == y.name; });
}

SwitchRow blend(const SwitchRow& a, const SwitchRow& b, int nodes) {
  const double share =
      (std::log2(nodes) - std::log2(a.nodes)) / (std::log2(b.nodes) - std::log2(a.nodes));
  SwitchRow out{nodes, {}};
  double reached = 0.0;
  for (const Aligned& pair : align(a, b)) {
    // Continued lines may cross; the choice listed first keeps the size, as the plugin looks
    // through its regions in order.
    reached = std::max(reached, pair.a + share * (pair.b - pair.a));
    Switch next = *pair.choice;
    next.from_bytes = reached > 0.0 ? std::exp2(reached) : 0.0;
    out.switches.push_back(next);
  }
  return out;
}

}  // namespace

SwitchRow row_at(const SwitchTable& table, int nodes) {
  FLOWPLAN_ASSERT(!table.rows.empty());
  const auto after = std::find_if(table.rows.begin(), table.rows.end(),
                                  [&](const SwitchRow& row) { return row.nodes >= nodes; });
  if (after == table.rows.begin()) return *after;
  if (after != table.rows.end()) {
    return after->nodes == nodes ? *after : blend(*(after - 1), *after, nodes);
  }
  const SwitchRow& last = table.rows.back();
  if (table.rows.size() < 2) return last;
  const SwitchRow& before = *(table.rows.end() - 2);
  return same_choices(before, last) ? blend(before, last, nodes) : last;
}

}  // namespace flowplan::collective
