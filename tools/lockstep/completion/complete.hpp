#pragma once

#include <string>
#include <vector>

#include "tools/lockstep/completion/candidates.hpp"
#include "tools/lockstep/parser/command_info.hpp"

namespace lockstep::cli {

/// The words that may stand where the last of `words` is being typed. `words` are those after the
/// program's name; the last is the one at the cursor, empty if nothing of it is typed yet. Whole
/// words are offered, those of a list or of --name=value with what comes before.
[[nodiscard]] Completions complete(const CommandInfo& program,
                                   const std::vector<std::string>& words);

/// For the scripts of the shells: a line each, description after a tab, ":files" in the end where
/// names of files are possible.
[[nodiscard]] std::string completion_lines(const Completions& completions);

}  // namespace lockstep::cli
