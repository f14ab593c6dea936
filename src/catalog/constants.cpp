#include "flowplan/catalog/constants.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "flowplan/base/assert.hpp"

namespace flowplan::catalog {

Constants::Constants(std::string id, std::string kind, std::vector<Entry> entries,
                     std::string about)
    : id_(std::move(id)), kind_(std::move(kind)), about_(std::move(about)) {
  // Entries are large: their order is found first, then each moves once.
  std::vector<std::size_t> order(entries.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return entries[a].name < entries[b].name; });
  entries_.reserve(entries.size());
  for (const std::size_t i : order) {
    if (!entries_.empty() && entries_.back().name == entries[i].name) entries_.pop_back();
    entries_.push_back(std::move(entries[i]));
  }
}

const Constants::Entry* Constants::find(std::string_view name) const {
  const auto found =
      std::lower_bound(entries_.begin(), entries_.end(), name,
                       [](const Entry& e, std::string_view n) { return e.name < n; });
  return found == entries_.end() || found->name != name ? nullptr : &*found;
}

std::span<const double> Constants::table(std::string_view name) const {
  const Entry* entry = find(name);
  return entry == nullptr ? std::span<const double>{} : std::span<const double>(entry->values);
}

double Constants::at(std::string_view name) const {
  const Entry* entry = find(name);
  FLOWPLAN_ASSERT(entry != nullptr && entry->values.size() == 1);
  return entry->values.front();
}

double Constants::get(std::string_view name, double otherwise) const {
  const Entry* entry = find(name);
  return entry == nullptr || entry->values.size() != 1 ? otherwise : entry->values.front();
}

}  // namespace flowplan::catalog
