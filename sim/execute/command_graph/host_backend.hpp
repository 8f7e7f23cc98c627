#pragma once

#include <memory>

#include "sim/execute/command_graph/backend.hpp"

namespace lockstep {

/// The host as a device: one thread executes commands in launch order or, with a seed above 0, in a
/// random order that their events allow. Times are CPU times of that thread.
[[nodiscard]] std::unique_ptr<Backend> host_backend(std::uint64_t order_seed = 0);

}  // namespace lockstep
