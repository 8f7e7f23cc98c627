#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/execute/command_graph/command_graph.hpp"

/// A device that computes nothing and checks the order of its commands. It uses the waits
/// and events of a command graph alone, as a device with streams does.
namespace lockstep {

struct CommandGraphFault {
  CommandId command = 0;
  std::string what;  // a sentence
};

/// What is wrong with a command graph's order:
/// - a wait for an event that nobody has recorded when it is issued (such a wait does nothing);
/// - streams that wait for each other in a ring, or for an event that is never recorded;
/// - a command that is to come after another (Command::after), and does not;
/// - two commands that touch the same elements, one of them writing, and neither comes first;
/// - elements that are outside their buffer, or copies between lengths that differ.
/// Empty where all is well.
[[nodiscard]] std::vector<CommandGraphFault> check_layout(const CommandGraph& graph);

/// An order in which a device may begin the commands, drawn from a seed: streams go on as their
/// waits allow. Errors: InternalError where they cannot.
[[nodiscard]] std::vector<CommandId> drawn_order(const CommandGraph& graph, std::uint64_t seed);

}  // namespace lockstep
