#pragma once

#include "arguments.hpp"
#include "session.hpp"

namespace flowplan::cli {

/// `flowplan collective --groups NAME:OP:SIZE ...`: each part's bus bandwidth alone and together.
int collective_groups(const Arguments& arguments, Session& session);

}  // namespace flowplan::cli
