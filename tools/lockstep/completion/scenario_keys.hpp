#pragma once

#include <string>

#include "tools/lockstep/completion/candidates.hpp"

namespace lockstep::cli {

/// Of `--set KEY=VALUE`: the keys of the published schema as "parallel.tp=", or, after "=", the
/// values of a key whose values are enumerated.
[[nodiscard]] Completions complete_override(const std::string& typed);

}  // namespace lockstep::cli
