#pragma once

#include <optional>
#include <span>

#include "sim/network/network.hpp"
#include "sim/schedule/schedule.hpp"

namespace lockstep {

/// Busiest-link load of a schedule: for every round the bytes of the directed link that carries
/// most, summed over the rounds, over the message. Distinguishes algorithms whose alpha-beta cost
/// is the same: what matters on a ring or a tapered tree is how far large blocks travel. A round is
/// a step's index in its lane, the sender's where the two ends differ: what lanes do in steps of
/// the same index counts as at once. A transfer that is split over paths loads each link by its
/// weight. `members[i]` plays rank i; none: the end points 0, 1, .... Empty where two that talk
/// have no route.
[[nodiscard]] std::optional<double> busiest_link_load(const Schedule& schedule,
                                                      const Network& network,
                                                      std::span<const EndpointId> members = {});

}  // namespace lockstep
