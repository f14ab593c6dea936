#include "fit_model.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string_view>
#include <utility>

#include "flowplan/collective/stack.hpp"

namespace flowplan::accuracy {
namespace {

struct Fittable {
  std::string_view name;
  std::string_view line;  ///< figure that bounds it; empty: none
};
constexpr std::string_view port_line = "nvlink.line_gbytes_per_s";
constexpr std::string_view nic_line = "net.line_gbytes_per_s";
// What a run can tell about links and software; NCCL's own tables are not for fitting.
constexpr std::array fittable{
    Fittable{"ring.gbytes_per_s", port_line},
    Fittable{"nvls.gbytes_per_s", port_line},
    Fittable{"ring.net_gbytes_per_s", nic_line},
    Fittable{"ring.net_gather_gbytes_per_s", nic_line},
    Fittable{"tree.net_gbytes_per_s", nic_line},
    Fittable{"nvls_tree.gbytes_per_s", port_line},
    Fittable{"p2p.net_gbytes_per_s", nic_line},
    Fittable{"p2p.gbytes_per_s", port_line},
    Fittable{"alltoall.gbytes_per_s", port_line},
    Fittable{"launch_us", ""},
    Fittable{"ring.step_us", ""},
    Fittable{"ring.growth_us", ""},
    Fittable{"nvls.step_us", ""},
    Fittable{"net.launch_us", ""},
    Fittable{"ring.net_step_us", ""},
    Fittable{"tree.net_step_us", ""},
    Fittable{"nvls_tree.net_step_us", ""},
    Fittable{"nvls_tree.loop_us", ""},
    Fittable{"alltoall.net_us", ""},
    Fittable{"alltoall.net_doubling_us", ""},
    Fittable{"p2p.net_us", ""},
    Fittable{"p2p.net_message_factor", ""},
    Fittable{"p2p.launch_extra_us", ""},
    Fittable{"p2p.peer_us", ""},
    Fittable{"p2p.growth_us", ""},
    Fittable{"alltoall.launch_extra_us", ""},
    Fittable{"alltoall.peer_us", ""},
    Fittable{"alltoall.growth_us", ""},
    Fittable{"harness.torch_net_offset_us", ""},
};

/// A stack with the changed figures of a set where it has those of the set.
catalog::Constants changed(const catalog::Constants& stack, const catalog::Constants& set,
                           const FitChange& change) {
  std::vector<catalog::Constants::Entry> entries = stack.entries();
  for (std::size_t k = 0; k < change.parameters.size(); ++k) {
    const FitParameter& parameter = change.parameters[k];
    const auto entry = std::find_if(entries.begin(), entries.end(), [&](const auto& candidate) {
      return candidate.name == parameter.name;
    });
    const auto *here = stack.find(parameter.name), *there = set.find(parameter.name);
    if (here == nullptr || here->values != there->values || here->source.text != there->source.text)
      continue;
    double& value = entry->values[parameter.index];
    value = parameter.value * std::exp(change.theta[k]);
    if (parameter.most > 0.0) value = std::min(value, parameter.most);
  }
  return {stack.id(), stack.kind(), std::move(entries), stack.about()};
}

}  // namespace

std::vector<FitParameter> fit_parameters(const catalog::Constants& set,
                                         const std::vector<std::string>& only) {
  std::vector<FitParameter> parameters;
  for (const Fittable& known : fittable) {
    if (!only.empty() && std::find(only.begin(), only.end(), known.name) == only.end()) continue;
    const auto values = set.table(known.name);
    const double most = known.line.empty() ? 0.0 : set.get(known.line, 0.0);
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (values[i] > 0.0) parameters.push_back({std::string(known.name), i, values[i], most});
    }
  }
  return parameters;
}

Result<std::vector<double>> log_errors(const catalog::Constants& set, const FitChange& change,
                                       const std::vector<const FitPoint*>& points) {
  struct Changed {
    catalog::Constants constants;
    collective::Stack stack;
  };
  std::map<const catalog::Constants*, Changed> stacks;
  std::vector<double> errors;
  errors.reserve(points.size());
  for (const FitPoint* point : points) {
    auto stack = stacks.find(point->profile);
    if (stack == stacks.end()) {
      catalog::Constants constants = changed(*point->profile, set, change);
      auto read = collective::read_stack(constants);
      if (!read) return fail(std::move(read.error()));
      stack = stacks.emplace(point->profile, Changed{std::move(constants), std::move(*read)}).first;
    }
    const auto& [constants, with] = stack->second;
    const auto outcome = collective::predict(with, *point->cluster, point->request);
    if (!outcome) return fail(outcome.error());
    const Seconds harness =
        microseconds(point->harness.empty() ? 0.0 : constants.get(point->harness, 0.0));
    errors.push_back(std::log((outcome->time + harness) / microseconds(point->measured_us)));
  }
  return errors;
}

}  // namespace flowplan::accuracy
