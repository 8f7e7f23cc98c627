#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/execute/command_graph/command_graph.hpp"

/// A device that computes nothing and checks the order of commands, using only the waits and events
/// of a command graph.
namespace lockstep {

struct CommandGraphFault {
  CommandId command = 0;
  std::string what;  // a sentence
};

/// Ordering errors of a command graph:
/// - waiting for an event that is not yet recorded at launch (such a wait has no effect);
/// - cyclic waits between streams, or an event that is never recorded;
/// - a command not ordered after another one (Command::after);
/// - two unordered commands that access the same elements, one of them writing;
/// - elements outside their buffer, or copies between different lengths.
/// Empty if there are none.
[[nodiscard]] std::vector<CommandGraphFault> check_command_graph(const CommandGraph& graph);

/// A random valid order of the commands, drawn from a seed. InternalError if the graph deadlocks.
[[nodiscard]] std::vector<CommandId> drawn_order(const CommandGraph& graph, std::uint64_t seed);

}  // namespace lockstep
