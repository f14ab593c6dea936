#include "flowplan/operations/recovery.hpp"

#include <algorithm>

#include "figures.hpp"

namespace flowplan::operations {

namespace {

constexpr std::string_view recovery_prefix = "recovery-";
constexpr std::string_view recovery_kind = "recovery";

TimeRange read_range(FigureReader& read, std::string_view name) {
  const auto values = read.values(name, 3);
  return {Seconds(values[0]), Seconds(values[1]), Seconds(values[2])};
}

Seconds at_pace(const TimeRange& range, Pace pace) {
  switch (pace) {
    case Pace::low:
      return range.low;
    case Pace::high:
      return range.high;
    case Pace::typical:
      break;
  }
  return range.typical;
}

const TimeRange* range_of(const Recovery& recovery, Remedy remedy) {
  switch (remedy) {
    case Remedy::reboot:
      return &recovery.reboot;
    case Remedy::spare_swap:
      return &recovery.spare_swap;
    case Remedy::replace:
      return &recovery.replace;
    case Remedy::none:
      break;
  }
  return nullptr;
}

std::string_view term_id(Remedy remedy) {
  switch (remedy) {
    case Remedy::reboot:
      return "reboot";
    case Remedy::spare_swap:
      return "spare_swap";
    case Remedy::replace:
      return "replace";
    case Remedy::none:
      break;
  }
  return "no_node_step";
}

}  // namespace

std::vector<std::string> recovery_names(const catalog::Catalog& catalog) {
  std::vector<std::string> names;
  for (const std::string& set : catalog.constants_ids(recovery_kind))
    if (set.starts_with(recovery_prefix)) names.push_back(set.substr(recovery_prefix.size()));
  return names;
}

Result<Recovery> recovery(const catalog::Catalog& catalog, std::string_view name) {
  if (name.starts_with(recovery_prefix)) name.remove_prefix(recovery_prefix.size());
  const std::vector<std::string> known = recovery_names(catalog);
  if (std::find(known.begin(), known.end(), name) == known.end()) {
    return fail(error(Code::unknown_name, fmt::format("unknown recovery profile `{}`", name),
                      suggest(name, known)));
  }
  const auto set = catalog.constants(fmt::format("{}{}", recovery_prefix, name));
  if (!set) return fail(set.error());
  FigureReader read(**set);
  Recovery r;
  r.id = std::string(name);
  r.about = (*set)->about();
  r.detect = read_range(read, "detect_s");
  r.reboot = read_range(read, "reboot_s");
  r.spare_swap = read_range(read, "spare_swap_s");
  r.replace = read_range(read, "replace_s");
  r.scheduler = read_range(read, "scheduler_s");
  r.process_start = read_range(read, "process_start_s");
  r.communicator_init = read_range(read, "communicator_init_s");
  r.warm_up = read_range(read, "warm_up_s");
  Diagnostics missing = read.missing();
  if (!missing.empty()) return fail(std::move(missing));
  return r;
}

std::vector<RestartTerm> restart_terms(const Recovery& recovery, Remedy remedy, Seconds read,
                                       Pace pace) {
  const TimeRange* node = range_of(recovery, remedy);
  return {{"detect", at_pace(recovery.detect, pace)},
          {term_id(remedy), node == nullptr ? Seconds() : at_pace(*node, pace)},
          {"scheduler", at_pace(recovery.scheduler, pace)},
          {"process_start", at_pace(recovery.process_start, pace)},
          {"communicator_init", at_pace(recovery.communicator_init, pace)},
          {"checkpoint_read", read},
          {"warm_up", at_pace(recovery.warm_up, pace)}};
}

Seconds restart_time(const Recovery& recovery, Remedy remedy, Seconds read, Pace pace) {
  Seconds sum;
  for (const RestartTerm& term : restart_terms(recovery, remedy, read, pace))
    sum += term.time;
  return sum;
}

}  // namespace flowplan::operations
