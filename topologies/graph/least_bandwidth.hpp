#pragma once

#include "sim/base/units.hpp"

namespace lockstep {

/// Of a link. Less would leave transfers that share it no rate at all: a Rate has steps of 2^-16
/// B/s.
inline constexpr Rate kLeastLinkBandwidth = Rate::bytes_per_second(1);

}  // namespace lockstep
