#pragma once

#include "strategies/collectives/algorithm.hpp"

/// Adapters from plain functions of n to the registry's functions of an input.
namespace lockstep::rows {

inline constexpr std::string_view kAnyRanks = "n >= 1";
inline constexpr std::string_view kThakur = "Thakur, Rabenseifner and Gropp 2005, section 4";

template <SchedulePtr (*make)(int)>
SchedulePtr of_n(const AlgorithmInput& input) {
  return make(input.n);
}

template <CollectiveCost (*cost)(int)>
std::optional<CollectiveCost> of_n(const AlgorithmInput& input) {
  return cost(input.n);
}

template <std::optional<CollectiveCost> (*cost)(int)>
std::optional<CollectiveCost> of_n(const AlgorithmInput& input) {
  return cost(input.n);
}

/// An integer argument that has a default.
inline int number(const AlgorithmInput& input, std::string_view name) {
  return static_cast<int>(input.number(name).value());
}

}  // namespace lockstep::rows
