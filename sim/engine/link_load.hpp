#pragma once

#include <optional>
#include <span>

#include "sim/network/network.hpp"
#include "sim/schedule/schedule.hpp"

namespace lockstep {

/// Busiest-link load of a schedule: the bytes on the busiest directed link of each round, summed
/// over rounds, relative to the message size. It distinguishes algorithms of equal alpha-beta cost:
/// on a ring or a tapered tree, cost depends on how far large blocks travel. A round is a step
/// index in a lane (the sender's, if the ends differ); lanes act concurrently. A split transfer
/// loads each link by its weight. `members[i]` is the endpoint of rank i; empty: endpoints 0, 1,
/// .... Empty if some pair has no route.
[[nodiscard]] std::optional<double> busiest_link_load(const Schedule& schedule,
                                                      const Network& network,
                                                      std::span<const EndpointId> members = {});

}  // namespace lockstep
