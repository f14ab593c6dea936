#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace flowplan::cli {

/// What the program asks of the process around it.
struct Environment {
  std::string catalogs;  ///< FLOWPLAN_CATALOGS
  std::string program;   ///< path of the executable; "" when unknown
  /// Which task of how many a scheduler's array job makes of this process: of a Slurm array counted
  /// from its first, or of an indexed Kubernetes job. Empty outside of one.
  std::string array_index, array_count;
  bool github_actions = false;      ///< GITHUB_ACTIONS is "true"
  std::string github_step_summary;  ///< GITHUB_STEP_SUMMARY
  bool unicode = false;             ///< the locale is UTF-8
  bool err_terminal = false;        ///< standard error is a terminal, where progress may be shown
  double progress_after_s = 2.0;    ///< once something has taken so long
  bool out_terminal = false;        ///< standard output is a terminal
  bool out_colour = false;          ///< standard output is a terminal and NO_COLOR is not set
};

/// The environment of this process.
[[nodiscard]] Environment process_environment();

/// Runs the command line `args` (without the program's name). The result goes to `out`; warnings,
/// errors and progress go to `err`. Returns the exit code documented in `flowplan help`:
/// 0 ok, 1 a check failed, 2 usage (a wrong value that was typed is, too), 3 invalid scenario or
/// input file, 4 infeasible, 5 internal error.
int run(const std::vector<std::string>& args, std::ostream& out, std::ostream& err);
int run(const std::vector<std::string>& args, std::ostream& out, std::ostream& err,
        const Environment& environment);

}  // namespace flowplan::cli
