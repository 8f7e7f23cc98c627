#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/symmetry/branches/branches.hpp"

namespace lockstep::fold {

struct BranchReplayResult {
  std::vector<TimePoint> ends;  // per class of members
  std::uint64_t transfers = 0;  // worked out one by one
  std::uint64_t solves = 0;     // fair shares worked out
  std::uint64_t histories = 0;  // branches that came to differ, counted once
};

/// Replays a quotient with branches that have met the same so far as one: an engine for what is in
/// no branch, and one for every history that branches have had. Those of a kind begin as one; at
/// the first instant at which their attachments come to different ends of their transfers, the
/// engine of their history is copied, and each copy goes on for its own. Times are those of one
/// engine for all, to the last bit. Empty where some member does not end.
[[nodiscard]] std::optional<BranchReplayResult> replay_branches(const Quotient& quotient,
                                                                const Branches& branches,
                                                                NetworkModel model);

}  // namespace lockstep::fold
