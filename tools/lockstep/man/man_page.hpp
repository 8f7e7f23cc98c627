#pragma once

#include <string>

#include "tools/lockstep/parser/command_info.hpp"

namespace lockstep::cli {

/// The manual page of a command as roff source: options by group, subcommands, and the paragraphs
/// of its footer; `version` is in the page's foot.
[[nodiscard]] std::string man_page(const CommandInfo& command, const std::string& version);

/// "lockstep-topology-show" for "lockstep topology show".
[[nodiscard]] std::string man_page_name(const CommandInfo& command);

}  // namespace lockstep::cli
