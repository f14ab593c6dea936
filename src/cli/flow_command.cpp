#include "command.hpp"
#include "flowplan/flow/case_file.hpp"
#include "flowplan/flow/simulate.hpp"
#include "flowplan/report/flow.hpp"
#include "input.hpp"

namespace flowplan::cli {

namespace {

int replay(const Arguments& arguments, Session& session) {
  const auto document = read_input(arguments.positionals[0], FileKind::flow_case, "flow");
  if (!document) return refuse(session, document.error());
  const auto flow_case = flow::read_case(*document);
  if (!flow_case) return refuse(session, flow_case.error());
  const flow::Completion completion = flow::simulate(flow_case->network, flow_case->flows);
  return emit(arguments, session,
              renderings(session, [&] { return report::flow(*flow_case, completion); },
                         {{"json", [&] { return report::flow_json(*flow_case, completion); }}}),
              0);
}

}  // namespace

Command flow_command() {
  return {"flow",
          "Replay flows on a graph of links, shared max-min fairly.",
          "Takes the format flow-oracle-1 (docs/reference/flow-case.md).",
          {{"CASE", "Case file; - is standard input.", 1, 1}},
          {format_option(), output_option()},
          {{"flow tests/flow/cases/parking-lot.json --format json", "When each flow ends"}},
          replay};
}

}  // namespace flowplan::cli
