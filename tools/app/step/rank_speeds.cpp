#include "tools/app/step/rank_speeds.hpp"

#include <fmt/format.h>

#include "tools/app/errors.hpp"
#include "tools/app/step/run_step.hpp"

namespace lockstep::app {

namespace {

void check(int rank, const std::string& field, int ranks) {
  if (rank < ranks) return;
  throw RequestError(field, fmt::format("the scenario has ranks 0 to {}", ranks - 1));
}

}  // namespace

std::map<int, double> rank_speeds(const std::vector<RankSpeedRange>& ranges,
                                  const std::map<int, double>& single, int ranks) {
  std::map<int, double> out;
  for (const RankSpeedRange& range : ranges) {
    const int last = range.last.value_or(ranks - 1);
    const std::string named = range.first == last
                                  ? fmt::format("gpu_speed {}", last)
                                  : fmt::format("gpu_speed {}..{}", range.first, last);
    check(last, named, ranks);
    for (int rank = range.first; rank <= last; ++rank) out[rank] = range.speed;
  }
  for (const auto& [rank, speed] : single) {
    check(rank, fmt::format("set_rank {}", rank), ranks);
    out[rank] = speed;
  }
  return out;
}

}  // namespace lockstep::app
