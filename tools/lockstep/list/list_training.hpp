#pragma once

#include "tools/lockstep/output/output.hpp"

namespace lockstep::cli {

/// Lists of `lockstep list` on training steps. Throw ConfigError for invalid files.
[[nodiscard]] Report list_models();
[[nodiscard]] Report list_scenarios();
[[nodiscard]] Report list_stacks();
[[nodiscard]] Report list_precisions();
[[nodiscard]] Report list_spaces();
[[nodiscard]] Report list_campaigns();

}  // namespace lockstep::cli
