#pragma once

#include <cstddef>
#include <string>

#include "tools/lockstep/parser/command_info.hpp"

namespace lockstep::cli {

/// The text of --help: summary, usage, options by group, commands, footer. No line is longer than
/// `width` (at least 40), unless a single word is; examples are continued behind a backslash, so
/// that they can be pasted.
[[nodiscard]] std::string help_text(const CommandInfo& command, std::size_t width);

/// Its subcommands, one or more lines each.
[[nodiscard]] std::string command_list(const CommandInfo& command, std::size_t width);

}  // namespace lockstep::cli
