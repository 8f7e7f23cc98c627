#pragma once

namespace lockstep::cli {

/// Reads the command line and does what it says. Returns the exit code; throws what commands.hpp
/// lists.
int run_command_line(int argc, char** argv);

}  // namespace lockstep::cli
