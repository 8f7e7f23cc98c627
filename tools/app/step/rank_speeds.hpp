#pragma once

#include <map>
#include <vector>

namespace lockstep::app {

struct RankSpeedRange;

/// The speed of every rank that does not compute at the device's: `ranges`, later ones overriding
/// earlier ones, then `single`. Throws RequestError if one is of a rank that a scenario of `ranks`
/// ranks does not have.
[[nodiscard]] std::map<int, double> rank_speeds(const std::vector<RankSpeedRange>& ranges,
                                                const std::map<int, double>& single, int ranks);

}  // namespace lockstep::app
