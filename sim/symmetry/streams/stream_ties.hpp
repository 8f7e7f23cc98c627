#pragma once

#include "sim/engine/replay.hpp"

namespace lockstep::fold {

/// Whether the order of events within an instant may have decided anything in the replay of
/// streams: which of several operations that became ready at once has a processor
/// first, or the first message of a connection. Where it may, ranks of a class can take different
/// turns in the whole replay. Operations whose turn follows from their own rank alone do not count:
/// those without dependencies, those that one operation releases, and those that follow
/// computations whose turn is known.
[[nodiscard]] bool order_may_decide(const Network& network, const Workload& workload,
                                    const ReplayResult& result);

}  // namespace lockstep::fold
