#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "command.hpp"

namespace flowplan::cli {

const std::vector<Command>& commands() {
  static const std::vector<Command> table{
      run_command(),
      plan_command(),
      sweep_command(),
      diff_command(),
      check_command(),
      explain_command(),
      sensitivity_command(),
      report_command(),
      collective_command(),
      io_command(),
      topology_command(),
      flow_command(),
      replay_command(),
      catalog_list_command(),
      catalog_show_command(),
      catalog_compare_command(),
      catalog_import_command(),
      import_jobs_command(),
      import_log_command(),
      validate_command(),
      fit_command(),
      export_command(),
      init_command(),
      schema_command(),
      completion_command(),
      help_command(),
      version_command(),
  };
  return table;
}

const Command* find_command(std::string_view name) {
  const auto& table = commands();
  const auto found = std::find_if(table.begin(), table.end(),
                                  [&](const Command& command) { return command.name == name; });
  return found == table.end() ? nullptr : &*found;
}

Option format_option(const std::vector<std::string_view>& formats) {
  const std::string others =
      formats.size() > 1 ? fmt::format(", {}", fmt::join(formats.begin() + 1, formats.end(), ", "))
                         : "";
  return {
      "format",
      0,
      "FORMAT",
      fmt::format("How standard output shows the result: {} (default){}.", formats.front(), others),
      false,
      {},
      formats};
}

Option full_option() {
  return {"full",
          0,
          "",
          "All that a report can show: the cluster's picture, the step's timeline, sensitivity. "
          "HTML always does, and then every output of this command.",
          false,
          {}};
}

Option output_option(const std::vector<std::string_view>& formats) {
  return {"output", 'o', "FORMAT=FILE", "Also write the result to a file in that format.",
          true,     {},  formats};
}

Option catalog_option() {
  return {"catalog",
          0,
          "FILE",
          "Lay the entries of a file over the catalog, by id; a folder replaces the catalog.",
          true,
          {}};
}

Option set_option() {
  return {"set",
          0,
          "PATH=VALUE",
          "Replace a value of the scenario: workload.parallelism.tp=4. The value is JSON or a bare "
          "string.",
          true,
          {}};
}

}  // namespace flowplan::cli
