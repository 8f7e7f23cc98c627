#pragma once

#include <span>

#include "sim/base/units.hpp"
#include "sim/network/network.hpp"
#include "sim/schedule/schedule.hpp"

namespace lockstep {

/// Lower bound on the replay time of this schedule on this network for any rank that holds data,
/// from the rank's own start, under any competing traffic and any start times of other ranks. Per
/// rank the maximum of
///   - its bytes sent and received over the bandwidth of its most loaded link;
///   - the sum of its longest lane's steps, each at its longest transfer alone on its route;
/// the minimum over the first `data_ranks` ranks. `members` execute the schedule's ranks; blocks
/// have `block` bytes. Zero, without walking the schedule, if it has more than `most_steps`
/// non-repeating steps.
[[nodiscard]] Duration least_time(const Schedule& schedule, std::span<const EndpointId> members,
                                  int data_ranks, Bytes block, const Network& network,
                                  std::int64_t most_steps = 200'000);

/// The same for one message: to the end of the send, and to the end of the receive.
struct MessageBound {
  Duration sending;
  Duration latency;
};
[[nodiscard]] MessageBound least_time(EndpointId from, EndpointId to, Bytes size,
                                      const Network& network);

}  // namespace lockstep
