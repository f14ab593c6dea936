#include <ostream>

#include <fmt/format.h>

#include "command.hpp"

namespace flowplan::cli {

namespace {

int version(const Arguments&, Session& session) {
  session.out << fmt::format("flowplan {}\n", FLOWPLAN_VERSION);
  return 0;
}

}  // namespace

Command version_command() {
  return {"version", "Print the version.", "", {}, {}, {}, version};
}

}  // namespace flowplan::cli
