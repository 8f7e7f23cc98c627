#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/execute/schedule/execute.hpp"

namespace lockstep {

/// Execution orders that reveal races: first-come, last-come, shuffled, and with each lane of each
/// rank in turn delayed as long as anything else can proceed. If lane A can act before lane B, it
/// does so when B is delayed, so a result that depends on their order differs in one of the two.
/// `most` >= 1; if it is smaller than the number of lanes, an even selection of lanes is delayed.
[[nodiscard]] std::vector<ExecuteOptions> execution_orders(const Schedule& schedule,
                                                           const ExecuteOptions& base,
                                                           std::int64_t most);

/// "where rank 3's lane 1 moves only when nothing else can"; empty for the default order.
[[nodiscard]] std::string to_text(const ExecuteOptions& options);

}  // namespace lockstep
