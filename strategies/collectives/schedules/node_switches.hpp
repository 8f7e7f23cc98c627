#pragma once

#include <optional>
#include <string>
#include <vector>

#include "strategies/collectives/algorithm.hpp"

namespace lockstep {

/// In nodes of `group` ranks side by side a reduce-scatter (Combine::reduce) or an all-gather
/// (Combine::copy) of `group` blocks over the node's switch: what NVLS does with a multimem load
/// that reduces and a multimem store. `above`: of each of the n ranks its switch, from n on, a rank
/// of the schedule; `switches`: schedule ranks from n on, those without ranks below idle.
[[nodiscard]] SchedulePtr over_node_switches(int n, int group, std::vector<int> above, int switches,
                                             Combine combine);

/// Why the ranks' nodes have no switch that reduces for each of them alone; none where they have.
[[nodiscard]] std::optional<std::string> node_switches_refusal(const AlgorithmInput& input);

}  // namespace lockstep
