#pragma once

#include "sim/engine/replay.hpp"

namespace lockstep {

/// What replay() returns, but for `solves`, at less cost where streams call alike collectives again
/// and again: one that nothing else can touch is replayed on its own once, and those that are
/// shaped like it take as long. Which those are is found out beforehand from who crosses which
/// links, and in the course of the replay from who has begun and what is to come. Where messages
/// cost their sender time, in the queue model, and where transfers are logged, everything is
/// replayed.
[[nodiscard]] ReplayResult replay_reusing(const Network& network, const Workload& workload,
                                          NetworkModel model, const OnReplay& report = {});

/// Whether any call may be assumed known.
[[nodiscard]] bool can_reuse(const Network& network, const Workload& workload, NetworkModel model);

}  // namespace lockstep
