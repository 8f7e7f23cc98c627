#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/symmetry/branches/branches.hpp"

namespace lockstep::fold {

struct BranchReplayResult {
  std::vector<TimePoint> ends;  // per class of members
  std::uint64_t transfers = 0;  // replayed one by one
  std::uint64_t solves = 0;     // max-min solves
  std::uint64_t histories = 0;  // different histories of branches
};

/// Replays a quotient in which branches with equal histories are replayed once: one engine for
/// everything outside branches, and one per history. Branches of a kind start with one history; at
/// the first instant at which their attachments reach different ends of transfers, the engine of
/// the history is copied. Times equal those of one engine for all, to the last bit. Empty if a
/// member deadlocks. `report`: of what is in no branch.
[[nodiscard]] std::optional<BranchReplayResult> replay_branches(const Quotient& quotient,
                                                                const Branches& branches,
                                                                NetworkModel model,
                                                                const OnReplay& report = {});

}  // namespace lockstep::fold
