#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "strategies/scenario/scenario.hpp"
#include "strategies/step/lowering/costs/rank_speed.hpp"

namespace lockstep::app {

struct RankSpeedRange;

/// Speeds of ranks that differ from the device's: `ranges`, where later ones override earlier ones
/// and windows are added, then `single`. Ranges of whole speeds draw ranks that none before has
/// drawn. Throws RequestError for ranks outside the scenario's `ranks`, for draws of more ranks
/// than are left, and for windows of one rank that overlap.
[[nodiscard]] RankSpeeds rank_speeds(const std::vector<RankSpeedRange>& ranges,
                                     const RankSpeeds& single, int ranks, std::uint64_t seed);

/// Slow windows that begin after the end of a step, each time once.
[[nodiscard]] std::vector<ScenarioNote> idle_windows(const RankSpeeds& speeds, Duration step);

/// The ranks that ranges draw, or draw a speed for.
[[nodiscard]] std::set<int> drawn_ranks(const std::vector<RankSpeedRange>& ranges, int ranks,
                                        std::uint64_t seed);

/// Whether a range draws anything.
[[nodiscard]] bool draws(const RankSpeedRange& range);

}  // namespace lockstep::app
