#pragma once

#include "sim/engine/replay.hpp"

namespace lockstep {

/// Returns what replay() returns, except `solves`, at less cost if streams repeat collectives: an
/// isolated call is replayed once per shape, and calls of equal shape take the same time. Isolation
/// is decided beforehand from the links that calls cross, and during the replay from the calls in
/// flight and to come. Without effect (everything is replayed) if senders have a message overhead,
/// in the queue model, and if transfers are logged.
[[nodiscard]] ReplayResult replay_reusing(const Network& network, const Workload& workload,
                                          NetworkModel model, const OnReplay& report = {});

/// Whether calls may be reused on this network at all.
[[nodiscard]] bool can_reuse(const Network& network, const Workload& workload, NetworkModel model);

}  // namespace lockstep
