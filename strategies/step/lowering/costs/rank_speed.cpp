#include "strategies/step/lowering/costs/rank_speed.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace lockstep {

const RankSpeed& speed_of(const RankSpeeds& speeds, int rank) {
  static const RankSpeed normal;
  const auto found = speeds.find(rank);
  return found == speeds.end() ? normal : found->second;
}

std::string description(const SlowWindow& window) {
  return fmt::format(
      "{} to {}", window.from == TimePoint{} ? "the start" : to_string(window.from.since_start()),
      window.until == SlowWindow::kNoEnd ? "the end" : to_string(window.until.since_start()));
}

std::string description(const RankSpeed& speed) {
  constexpr const char* kLoad = "has other documents or experts";
  if (speed.speed == 1 && speed.windows.empty() && speed.load > 0) return kLoad;
  std::vector<std::string> parts;
  if (speed.speed != 1 || speed.windows.empty())
    parts.push_back(fmt::format("{} of the speed", speed.speed));
  for (const SlowWindow& window : speed.windows)
    parts.push_back(fmt::format("{} of the speed from {}", window.speed, description(window)));
  return fmt::format("computes at {}", fmt::join(parts, " and at "));
}

}  // namespace lockstep
