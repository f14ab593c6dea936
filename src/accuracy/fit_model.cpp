#include "fit_model.hpp"

#include <algorithm>
#include <array>
#include <cmath>
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
};

}  // namespace

std::vector<FitParameter> fit_parameters(const catalog::Constants& profile) {
  std::vector<FitParameter> parameters;
  for (const Fittable& known : fittable) {
    const auto values = profile.table(known.name);
    const double most = known.line.empty() ? 0.0 : profile.get(known.line, 0.0);
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (values[i] > 0.0) parameters.push_back({std::string(known.name), i, values[i], most});
    }
  }
  return parameters;
}

catalog::Constants with_parameters(const catalog::Constants& profile,
                                   const std::vector<FitParameter>& parameters,
                                   const std::vector<double>& theta) {
  std::vector<catalog::Constants::Entry> entries = profile.entries();
  for (std::size_t k = 0; k < parameters.size(); ++k) {
    const auto entry = std::find_if(entries.begin(), entries.end(), [&](const auto& candidate) {
      return candidate.name == parameters[k].name;
    });
    double& value = entry->values[parameters[k].index];
    value = parameters[k].value * std::exp(theta[k]);
    if (parameters[k].most > 0.0) value = std::min(value, parameters[k].most);
  }
  return {profile.id(), profile.kind(), std::move(entries), profile.about()};
}

Result<std::vector<double>> log_errors(const catalog::Constants& profile,
                                       const std::vector<const FitPoint*>& points) {
  const auto stack = collective::read_stack(profile);
  if (!stack) return fail(stack.error());
  std::vector<double> errors;
  errors.reserve(points.size());
  for (const FitPoint* point : points) {
    const auto outcome = collective::predict(*stack, *point->cluster, point->request);
    if (!outcome) return fail(outcome.error());
    errors.push_back(std::log(outcome->time / microseconds(point->measured_us)));
  }
  return errors;
}

}  // namespace flowplan::accuracy
