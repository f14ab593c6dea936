#pragma once

#include "flowplan/collective/collective.hpp"
#include "flowplan/collective/stack.hpp"

namespace flowplan::accuracy {

/// Bytes on the wire over what a link can carry in the predicted time, of the busiest link. For a
/// request of one group.
[[nodiscard]] double busiest_link_share(const collective::Stack& stack,
                                        const topology::Cluster& cluster,
                                        const collective::Request& request,
                                        const collective::Outcome& outcome);

}  // namespace flowplan::accuracy
