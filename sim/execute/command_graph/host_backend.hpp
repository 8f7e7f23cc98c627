#pragma once

#include <memory>

#include "sim/execute/command_graph/backend.hpp"

namespace lockstep {

/// This machine's processor and memory as a device: one thread that does the commands of a command
/// graph in the order in which they are issued, or, from a seed above 0, in any other that their
/// events allow. Its times are those for which that thread computed.
[[nodiscard]] std::unique_ptr<Backend> host_backend(std::uint64_t order_seed = 0);

}  // namespace lockstep
