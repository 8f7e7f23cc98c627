#pragma once

#include <string>
#include <vector>

#include "tools/lockstep/parser/command_info.hpp"

namespace lockstep::cli {

/// Executes a command line. Returns the exit code; throws the errors listed in commands.hpp.
int run_command_line(int argc, char** argv);

/// Executes one command by its words, "run", "--format=json", "--", "pipeline-1f1b", for programs
/// that execute many: parsers are kept. Returns the time of the command with that of its
/// options, in s; 0: these needed a closer look. Throws as above, UsageError also for an unknown
/// command.
double run_command(const std::vector<std::string>& words);

/// The options of a command, with those of its subcommands.
[[nodiscard]] CommandInfo describe_command(const std::string& name);

}  // namespace lockstep::cli
