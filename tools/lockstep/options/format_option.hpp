#pragma once

#include "tools/lockstep/output/output.hpp"
#include "tools/lockstep/parser/command_parser.hpp"

namespace lockstep::cli {

/// --format table|json|csv|md and --color auto|always|never, the same on every command.
void add_format(const Command& command, Format& format);

/// The same with --wide, for tables that omit columns. Width and color are those of stdout.
void add_format(const Command& command, OutputStyle& style);

}  // namespace lockstep::cli
