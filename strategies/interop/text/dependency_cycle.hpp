#pragma once

#include <cstdint>
#include <vector>

namespace lockstep {

/// Nodes that wait for one another in a circle: the first one found, each waiting for the next and
/// the last for the first. Empty if there is none. `after[i]` lists what node i waits for.
[[nodiscard]] std::vector<std::uint32_t> find_cycle(
    const std::vector<std::vector<std::uint32_t>>& after);

}  // namespace lockstep
