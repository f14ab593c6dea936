#include "command.hpp"
#include "flowplan/base/json_document.hpp"
#include "flowplan/report/saved.hpp"

namespace flowplan::cli {

namespace {

int show_again(const Arguments& arguments, Session& session) {
  const auto result = JsonDocument::read(arguments.positionals[0]);
  if (!result) return refuse(session, result.error());
  const auto document = report::saved_document(*result);
  if (!document) return refuse(session, document.error());
  return emit(arguments, session,
              renderings(session, [&] { return *document; },
                         {{"json", [&] { return report::saved_json(*result); }}}),
              0);
}

}  // namespace

Command report_command() {
  return {
      "report",
      "Show a saved JSON result again, in any format.",
      "Takes what run, plan, diff and sensitivity wrote with -o json=FILE and computes nothing: "
      "the same bytes as if it had been asked for at once. HTML shows all its charts when the "
      "result was saved with --full.",
      {{"RESULT", "Saved result; - is standard input.", 1, 1}},
      {format_option(), output_option()},
      {{"report result.json -o html=report.html", "A page to hand on"},
       {"report result.json --format markdown", "For a pull request"}},
      show_again};
}

}  // namespace flowplan::cli
