#include <ostream>

#include <fmt/format.h>

#include "command.hpp"
#include "flowplan/export/topology_drawing.hpp"
#include "flowplan/replay/execution_trace.hpp"

namespace flowplan::cli {

namespace {

int version(const Arguments&, Session& session) {
  const auto made = [](bool is_in) { return is_in ? "yes" : "no"; };
  session.out << fmt::format(
      "flowplan {}\n"
      "  Graphviz, to draw topologies as SVG        {}\n"
      "  protobuf, to read Chakra execution traces  {}\n",
      FLOWPLAN_VERSION, made(exporting::has_graphviz()), made(replay::reads_chakra()));
  return 0;
}

}  // namespace

Command version_command() {
  return {"version", "Print the version and the optional parts that are built in.",
          "",        {},
          {},        {{"version", "What this build has"}},
          version};
}

}  // namespace flowplan::cli
