#pragma once

#include "strategies/collectives/algorithm.hpp"

/// The all-reduce named by the parameter `inner`, among one rank of each node.
namespace lockstep {

/// `parts`: number of parts of the message, each with an inner all-reduce of its own. Requires an
/// inner without inner_problem().
[[nodiscard]] SchedulePtr make_inner(const AlgorithmInput& input, int nodes, int parts);
[[nodiscard]] std::optional<CollectiveCost> inner_cost(const AlgorithmInput& input, int nodes,
                                                       int parts);
[[nodiscard]] std::optional<std::string> inner_problem(const AlgorithmInput& input, int nodes,
                                                       int parts);

}  // namespace lockstep
