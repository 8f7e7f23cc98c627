#pragma once

namespace lockstep::cli {

/// Executes a command line. Returns the exit code; throws the errors listed in commands.hpp.
int run_command_line(int argc, char** argv);

}  // namespace lockstep::cli
