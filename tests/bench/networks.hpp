#pragma once

#include <cstdint>

#include "sim/network/network.hpp"

namespace lockstep {

/// n end points of 400 Gb/s on one switch, 1 us per link: 2 us between any two.
[[nodiscard]] Network star(std::uint32_t n);

/// Leaves of 32 end points of 400 Gb/s, and spines that together carry half of what a leaf's end
/// points do; transfers between leaves are split evenly over them. 2 us between any two.
/// In: n a multiple of 32. With one spine of the same total bandwidth shares are the same, and no
/// transfer is split.
[[nodiscard]] Network fat_tree(std::uint32_t n, std::uint32_t spines);

}  // namespace lockstep
