#pragma once

#include <map>
#include <vector>

namespace lockstep::app {

struct RankSpeedRange;

/// Relative speeds of ranks that differ from the device's: `ranges`, where later ones override
/// earlier ones, then `single`. Throws RequestError for ranks outside the scenario's `ranks`.
[[nodiscard]] std::map<int, double> rank_speeds(const std::vector<RankSpeedRange>& ranges,
                                                const std::map<int, double>& single, int ranks);

}  // namespace lockstep::app
