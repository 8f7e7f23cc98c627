#include "topologies/files/operating_costs.hpp"

namespace lockstep {

OperatingCosts read_operating_costs(ObjectReader& in) {
  constexpr double kMost = 1e9;
  const auto amount = [&in](std::string_view key, double least) -> std::optional<double> {
    const auto at = in.optional(key);
    return at ? std::optional{at->number(least, kMost)} : std::nullopt;
  };
  OperatingCosts out;
  out.usd_per_gpu_hour = amount(kCostKeys[0], 0);
  out.watts_per_gpu = amount(kCostKeys[1], 0);
  out.pue = amount(kCostKeys[2], 1);
  out.usd_per_kwh = amount(kCostKeys[3], 0);
  return out;
}

}  // namespace lockstep
