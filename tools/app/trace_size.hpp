#pragma once

#include <functional>

#include "sim/base/units.hpp"

namespace lockstep::app {

/// Called with the size of a trace, uncompressed, before it is written.
using OnTraceSize = std::function<void(Bytes)>;

}  // namespace lockstep::app
