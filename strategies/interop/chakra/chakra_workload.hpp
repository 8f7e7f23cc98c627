#pragma once

#include <functional>
#include <memory>
#include <span>

#include "sim/schedule/workload.hpp"
#include "strategies/interop/chakra/chakra.hpp"

namespace lockstep {

/// The schedule of a collective among these ranks (the first is its root) for this message size.
/// Null if there is none.
using ChooseSchedule = std::function<std::shared_ptr<const Schedule>(
    Collective, std::span<const int> ranks, Bytes message)>;

/// The trace as a workload: one stream per node, rank by rank in file order, named after the node.
/// Sends are eager: the sender is free when its last byte has left. A rank runs one GPU computation
/// and one CPU computation (is_cpu_op) at a time; memory accesses and metadata take their duration
/// independently. The k-th collective of every rank of a group is one call, with one schedule per
/// collective and number of ranks; groups of one do nothing. comm_size is a rank's input, so an
/// all_gather of n ranks moves n times that. `members[r]` executes rank r.
/// Requires a trace from read_chakra(). Throws ConfigError for collectives without a schedule.
[[nodiscard]] Workload to_workload(const ChakraTrace& trace, std::span<const EndpointId> members,
                                   const ChooseSchedule& choose);

}  // namespace lockstep
