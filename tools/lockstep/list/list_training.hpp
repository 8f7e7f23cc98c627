#pragma once

#include "tools/lockstep/output/output.hpp"

namespace lockstep::cli {

/// What `lockstep list` says of training steps. Throw ConfigError for files that are wrong.
[[nodiscard]] Report list_models();
[[nodiscard]] Report list_scenarios();
[[nodiscard]] Report list_stacks();
[[nodiscard]] Report list_spaces();

}  // namespace lockstep::cli
