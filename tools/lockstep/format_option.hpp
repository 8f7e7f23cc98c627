#pragma once

#include "tools/lockstep/command_parser.hpp"
#include "tools/lockstep/output.hpp"

namespace lockstep::cli {

/// --format table|json|csv|md, the same on every command.
void add_format(const Command& command, Format& format);

}  // namespace lockstep::cli
