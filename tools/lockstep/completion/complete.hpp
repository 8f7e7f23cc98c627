#pragma once

#include <string>
#include <vector>

#include "tools/lockstep/completion/candidates.hpp"
#include "tools/lockstep/parser/command_info.hpp"

namespace lockstep::cli {

/// Candidates for the last of `words`, the words after the program's name up to the cursor (the
/// last may be empty). Candidates are whole words; in a list or --name=value they include the part
/// before.
[[nodiscard]] Completions complete(const CommandInfo& program,
                                   const std::vector<std::string>& words);

/// For the shells' scripts: one per line, description after a tab, a last line ":files" if file
/// names are possible.
[[nodiscard]] std::string completion_lines(const Completions& completions);

}  // namespace lockstep::cli
