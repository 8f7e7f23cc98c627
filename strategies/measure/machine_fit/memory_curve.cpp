#include <algorithm>
#include <cmath>

#include "strategies/calibration/measured_machine.hpp"

namespace lockstep {

double MemoryCurve::seconds(std::int64_t bytes) const {
  if (points.empty() || bytes == 0) return 0;
  const auto above = std::lower_bound(points.begin(), points.end(), bytes,
                                      [](const std::pair<std::int64_t, double>& point,
                                         std::int64_t size) { return point.first < size; });
  if (above == points.begin()) return points.front().second;
  if (above == points.end()) {
    return points.back().second * static_cast<double>(bytes) /
           static_cast<double>(points.back().first);
  }
  const auto& below = *(above - 1);
  const double share =
      std::log(static_cast<double>(bytes) / static_cast<double>(below.first)) /
      std::log(static_cast<double>(above->first) / static_cast<double>(below.first));
  return below.second * std::pow(above->second / below.second, share);
}

}  // namespace lockstep
