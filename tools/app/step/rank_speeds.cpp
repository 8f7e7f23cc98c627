#include "tools/app/step/rank_speeds.hpp"

#include <fmt/format.h>

#include "tools/app/errors.hpp"

namespace lockstep::app {

void check_rank_speeds(const std::map<int, double>& speeds, int ranks) {
  if (speeds.empty() || speeds.rbegin()->first < ranks) return;
  throw RequestError(fmt::format("set_rank {}", speeds.rbegin()->first),
                     fmt::format("the scenario has ranks 0 to {}", ranks - 1));
}

}  // namespace lockstep::app
