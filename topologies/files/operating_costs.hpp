#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "sim/config/reader.hpp"

namespace lockstep {

/// What a cluster costs its user; none where its file does not say.
struct OperatingCosts {
  std::optional<double> usd_per_gpu_hour{};
  std::optional<double> watts_per_gpu{};  // while it trains, its part of the node included
  std::optional<double> pue{};            // facility power over that of the machines
  std::optional<double> usd_per_kwh{};    // in addition to the price of GPU hours
};

/// The keys of a cluster file that read_operating_costs() takes.
inline constexpr std::array<std::string_view, 4> kCostKeys{"price", "watts", "pue", "price_kwh"};

[[nodiscard]] OperatingCosts read_operating_costs(ObjectReader& in);

}  // namespace lockstep
