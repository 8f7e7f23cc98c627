#pragma once

#include <string>

namespace lockstep::app {

/// Folder of the shipped configs, the first of: use_config_folder(), $LOCKSTEP_CONFIGS (throws
/// RequestError if that is no folder with configs), ../share/lockstep/configs next to the program's
/// own folder, ./configs, the source tree that built this.
[[nodiscard]] std::string config_folder();

/// From now on config_folder() is `path`; empty: searched for again. Not for use while a use case
/// runs in another thread.
void use_config_folder(std::string path);

}  // namespace lockstep::app
