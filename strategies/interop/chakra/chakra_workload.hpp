#pragma once

#include <functional>
#include <memory>
#include <span>

#include "sim/schedule/workload.hpp"
#include "strategies/interop/chakra/chakra.hpp"

namespace lockstep {

/// The schedule for a collective among these ranks of the trace, the first of them its root, for a
/// message of that length. Null: there is none.
using ChooseSchedule = std::function<std::shared_ptr<const Schedule>(
    Collective, std::span<const int> ranks, Bytes message)>;

/// What the engine replays: one stream per node, rank by rank in the files' order, named after the
/// node. Sends are eager: the sender is free when its last byte has left. A rank computes one thing
/// at a time on its GPU and one on its CPU (is_cpu_op); memory accesses and metadata take their
/// duration in addition. The k-th collective of each rank of a group is one call, of one schedule
/// per collective and number of ranks; alone in its group a rank does nothing. comm_size is what a
/// rank puts in, so an all_gather of n ranks moves n times that. `members[r]` plays rank r. The
/// trace must have passed read_chakra. Throws ConfigError for collectives without a schedule.
[[nodiscard]] Workload to_workload(const ChakraTrace& trace, std::span<const EndpointId> members,
                                   const ChooseSchedule& choose);

}  // namespace lockstep
