#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/execute/schedule/execute.hpp"

namespace lockstep {

/// Orders of execution in which a race would show: first come first, last come first, shuffled,
/// and with each lane of each rank in turn kept back as long as anything else can move. What lane
/// A can do before lane B does, it does where B is kept back, so a result that depends on the order
/// of two lanes differs in one of the two. `most` at least 1; where that is fewer than there are
/// lanes, some lanes from all over are kept back.
[[nodiscard]] std::vector<ExecuteOptions> execution_orders(const Schedule& schedule,
                                                           const ExecuteOptions& base,
                                                           std::int64_t most);

/// "where rank 3's lane 1 moves only when nothing else can"; empty for the plain order.
[[nodiscard]] std::string to_text(const ExecuteOptions& options);

}  // namespace lockstep
