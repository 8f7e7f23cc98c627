#pragma once

#include <optional>
#include <span>

#include "sim/network/network.hpp"
#include "sim/schedule/schedule.hpp"

namespace lockstep {

/// Busiest-link load of a schedule: for every round the bytes of the directed link that carries
/// most, summed over the rounds, over the message. Tells apart algorithms whose alpha-beta cost is
/// the same: what matters on a ring or a tapered tree is how far large blocks travel.
/// A round is a step's index, the sender's where the two ends differ; a transfer that is split over
/// paths loads each link by its weight. `members[i]` plays rank i; none: the end points 0, 1, ....
/// Empty for a schedule with more than one lane, or where two that talk have no route.
[[nodiscard]] std::optional<double> busiest_link_load(const Schedule& schedule,
                                                      const Network& network,
                                                      std::span<const EndpointId> members = {});

}  // namespace lockstep
