#include "flowplan/posttraining/profile.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace flowplan::posttraining {

namespace {

constexpr std::string_view kind_of_set = "posttraining";
constexpr std::string_view prefix_of_set = "posttraining-";

}  // namespace

std::vector<std::string> profile_names(const catalog::Catalog& catalog) {
  std::vector<std::string> names;
  for (const std::string& set : catalog.constants_ids(kind_of_set))
    names.push_back(set.substr(prefix_of_set.size()));
  return names;
}

Result<Profile> profile(const catalog::Catalog& catalog, std::string_view name) {
  const std::vector<std::string> known = profile_names(catalog);
  if (std::find(known.begin(), known.end(), name) == known.end()) {
    return fail(error(Code::unknown_name, fmt::format("no post-training profile `{}`", name),
                      suggest(name, known)));
  }
  const auto set = catalog.constants(fmt::format("{}{}", prefix_of_set, name));
  if (!set) return fail(set.error());
  const catalog::Constants& c = **set;
  Profile p;
  p.id = c.id();
  p.sync_tensor = milliseconds(c.at("sync.tensor_ms"));
  p.sync_colocated_tensor = milliseconds(c.at("sync.colocated_tensor_ms"));
  const auto range = c.table("sync.tensor_range_ms");
  p.sync_tensor_least = milliseconds(range.front());
  p.sync_tensor_most = milliseconds(range.back());
  p.multi_host_pass = milliseconds(c.at("engine.multi_host_pass_ms"));
  p.engine_wake = Seconds(c.at("engine.wake_s"));
  p.controller = Seconds(c.at("controller.step_s"));
  p.controller_sample = milliseconds(c.at("controller.sample_ms"));
  p.colocated_memory = c.at("engine.colocated_memory_fraction");
  p.apart_memory = c.at("engine.memory_fraction");
  p.band_p90 = c.get("band.p90_percent", 0.0);
  if (const auto* band = c.find("band.p90_percent")) p.band_regime = band->source.note;
  return p;
}

}  // namespace flowplan::posttraining
