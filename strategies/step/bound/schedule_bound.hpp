#pragma once

#include <span>

#include "sim/base/units.hpp"
#include "sim/network/network.hpp"
#include "sim/schedule/schedule.hpp"

namespace lockstep {

/// A time that no replay of this schedule beats on this network for any rank that holds data,
/// counted from its own begin, whatever other traffic there is and whenever others begin. Of each
/// rank the larger of
///   - the bytes that it sends and receives itself over a link's bandwidth, for the most loaded
///     link;
///   - the steps of one lane one after the other, each at its longest transfer alone on its route,
///     for the longest lane;
/// of all the first `data_ranks` ranks the least. `members` play the schedule's ranks, blocks are
/// `block` bytes long. Zero where the schedule has more than `most_steps` steps that do not repeat:
/// then it is not walked.
[[nodiscard]] Duration least_time(const Schedule& schedule, std::span<const EndpointId> members,
                                  int data_ranks, Bytes block, const Network& network,
                                  std::int64_t most_steps = 200'000);

/// The same for one message: until the sender is done with it, and until the receiver has it.
struct MessageBound {
  Duration sending;
  Duration latency;
};
[[nodiscard]] MessageBound least_time(EndpointId from, EndpointId to, Bytes size,
                                      const Network& network);

}  // namespace lockstep
