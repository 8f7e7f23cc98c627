#pragma once

#include <map>

namespace lockstep::app {

/// Throws RequestError if one is of a rank that a scenario of `ranks` ranks does not have.
void check_rank_speeds(const std::map<int, double>& speeds, int ranks);

}  // namespace lockstep::app
