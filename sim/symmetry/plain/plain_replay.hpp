#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/engine/replay.hpp"
#include "sim/symmetry/plain/plain_plan.hpp"

namespace lockstep::fold {

struct PlainReplay {
  std::vector<TimePoint> ends;  // per member
  std::uint64_t transfers = 0;
  std::uint64_t solves = 0;
};

/// Replays a plan: the same times as Engine's, by locality and one solution of the fluid model, at
/// about half of its cost: connections, links and lanes are known beforehand, so that an end of a
/// transfer is matched by setting a bit, and a link's flows are bits of a word. Empty if members do
/// not end, or if a change of shares reaches too far for the way in which they are worked out.
[[nodiscard]] std::optional<PlainReplay> replay_plain(const PlainPlan& plan,
                                                      const OnReplay& report);

}  // namespace lockstep::fold
