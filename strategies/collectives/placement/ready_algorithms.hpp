#pragma once

#include <cstdint>
#include <vector>

#include "strategies/collectives/placement/placed_communicator.hpp"
#include "strategies/collectives/registry/spec.hpp"

namespace lockstep {

/// Schedules with more messages take too long to try.
inline constexpr std::int64_t kMostTriedMessages = 2'000'000;

/// Algorithms that these ranks can execute with what is at hand (no further hosts, no switches of
/// the fabric), with the parameters as they fall back and with 2, 4, 8 and 16 channels: what
/// auto:by=replay chooses from. At most `most_messages` messages each.
[[nodiscard]] std::vector<AlgorithmSpec> ready_algorithms(
    const PlacedCommunicator& placed, Collective collective, int root,
    std::int64_t most_messages = kMostTriedMessages);

}  // namespace lockstep
