#include "token_count.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace flowplan::scenario {

using inference::TokenCount;

TokenCount token_count(const nlohmann::ordered_json& json, const char* key, double otherwise,
                       const std::string& pointer, PlacedFaults& faults) {
  TokenCount count{TokenCount::Kind::fixed, otherwise, 0.0};
  const auto found = json.find(key);
  if (found == json.end()) return count;
  if (found->is_number()) {
    count.mean = found->get<double>();
    return count;
  }
  count.mean = found->value("mean", otherwise);
  count.spread = found->value("spread", 0.0);
  count.most = found->value("most", count.most);
  if (count.mean > count.most)
    faults.add(Code::value_out_of_range, fmt::format("{}/{}", pointer, key),
               fmt::format("a mean of {:g} is above the most, {:g}", count.mean, count.most));
  const std::string kind = found->value("kind", "fixed");
  if (kind == "uniform") count.kind = TokenCount::Kind::uniform;
  if (kind == "below") count.kind = TokenCount::Kind::below;
  if (kind == "lognormal") count.kind = TokenCount::Kind::lognormal;
  if (kind == "exponential") count.kind = TokenCount::Kind::exponential;
  return count;
}

}  // namespace flowplan::scenario
