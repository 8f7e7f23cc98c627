#include "topologies/files/operating_costs.hpp"

namespace lockstep {

OperatingCosts read_operating_costs(ObjectReader& in) {
  constexpr double kMost = 1e9;
  const auto amount = [&in](std::size_t key, double least, std::string_view help) {
    return in.optional_number({kCostKeys.at(key), help}, least, kMost);
  };
  OperatingCosts out;
  out.usd_per_gpu_hour = amount(0, 0, "Price of a GPU hour ($); for `lockstep plan`");
  out.watts_per_gpu = amount(
      1, 0, "Power that a GPU and its part of the node draw (W; default: max_power of the device)");
  out.pue =
      amount(2, 1, "Power usage effectiveness: facility power over machine power (default: 1)");
  out.usd_per_kwh = amount(3, 0, "Price of a kWh ($), in addition to price");
  return out;
}

}  // namespace lockstep
