#pragma once

#include <string>

namespace lockstep::app {

/// Folder of the shipped configs, the first of: use_config_folder(), $LOCKSTEP_CONFIGS (throws
/// RequestError if it contains no configs), ../share/lockstep/configs relative to the executable,
/// ./configs, the source tree of the build.
[[nodiscard]] std::string config_folder();

/// Overrides config_folder(); empty: restores the search. Not thread-safe with running use cases.
void use_config_folder(std::string path);

}  // namespace lockstep::app
