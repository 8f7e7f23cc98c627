#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

namespace lockstep::app {

struct RankSpeedRange;

/// Relative speeds of ranks that differ from the device's: `ranges`, where later ones override
/// earlier ones, then `single`. Throws RequestError for ranks outside the scenario's `ranks`.
[[nodiscard]] std::map<int, double> rank_speeds(const std::vector<RankSpeedRange>& ranges,
                                                const std::map<int, double>& single, int ranks,
                                                std::uint64_t seed);

/// The ranks that ranges with a share draw: of each the share of `ranks`, to the nearest number, at
/// least one; each range draws for itself.
[[nodiscard]] std::set<int> drawn_ranks(const std::vector<RankSpeedRange>& ranges, int ranks,
                                        std::uint64_t seed);

}  // namespace lockstep::app
