#pragma once

#include "sim/base/units.hpp"

namespace lockstep {

/// Minimum bandwidth of a link: transfers that share less would get no rate, since Rate has a
/// resolution of 2^-16 B/s.
inline constexpr Rate kLeastLinkBandwidth = Rate::bytes_per_second(1);

}  // namespace lockstep
