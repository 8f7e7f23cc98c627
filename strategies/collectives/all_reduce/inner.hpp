#pragma once

#include "strategies/collectives/algorithm.hpp"

/// The all-reduce that the parameter `inner` names, among one rank of each of several nodes.
namespace lockstep {

/// `parts`: into how many the nodes divide the message, each with an inner all-reduce of its own.
/// The input's inner must have passed inner_problem().
[[nodiscard]] SchedulePtr make_inner(const AlgorithmInput& input, int nodes, int parts);
[[nodiscard]] std::optional<CollectiveCost> inner_cost(const AlgorithmInput& input, int nodes,
                                                       int parts);
[[nodiscard]] std::optional<std::string> inner_problem(const AlgorithmInput& input, int nodes,
                                                       int parts);

}  // namespace lockstep
