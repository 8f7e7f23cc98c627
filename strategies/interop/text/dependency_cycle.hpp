#pragma once

#include <cstdint>
#include <vector>

namespace lockstep {

/// The first cycle of dependencies found, each node depending on the next and the last on the
/// first. Empty if there is none. `after[i]` lists the dependencies of node i.
[[nodiscard]] std::vector<std::uint32_t> find_cycle(
    const std::vector<std::vector<std::uint32_t>>& after);

}  // namespace lockstep
