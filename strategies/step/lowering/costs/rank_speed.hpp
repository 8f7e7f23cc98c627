#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "sim/base/units.hpp"

namespace lockstep {

/// A time in which a rank is slower, from the start of the step.
struct SlowWindow {
  static constexpr TimePoint kNoEnd{Duration::picoseconds(INT64_MAX)};
  TimePoint from;
  TimePoint until = kNoEnd;  // exclusive, after `from`
  double speed = 1;  // relative to that outside; above 0, at most 1, in steps of a millionth
  friend auto operator<=>(const SlowWindow&, const SlowWindow&) = default;
};

/// How fast a rank computes, relative to the device's speed. Kernel times follow it; launches of
/// collectives and transfers do not.
struct RankSpeed {
  double speed = 1;                   // kernel times are divided by it
  std::vector<SlowWindow> windows{};  // ascending and disjoint
  std::uint32_t load = 0;             // of documents and experts: see UnequalTimes
  friend bool operator==(const RankSpeed&, const RankSpeed&) = default;
  friend bool operator<(const RankSpeed& a, const RankSpeed& b) {
    return std::tie(a.speed, a.windows, a.load) < std::tie(b.speed, b.windows, b.load);
  }
};

/// Of ranks that differ from the rest.
using RankSpeeds = std::map<int, RankSpeed>;

/// That of a rank, or of a rank that does not differ.
[[nodiscard]] const RankSpeed& speed_of(const RankSpeeds& speeds, int rank);

/// "1 s to 2 s", "the start to the end".
[[nodiscard]] std::string description(const SlowWindow& window);
/// "computes at 0.8 of the speed", "computes at 0.5 of the speed from 1 s to 2 s".
[[nodiscard]] std::string description(const RankSpeed& speed);

}  // namespace lockstep
