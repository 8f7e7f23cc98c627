#pragma once

#include "sim/config/json/config_error.hpp"
#include "tools/app/plan/space.hpp"

namespace lockstep::cli {

/// Problems of a space's scenarios at the options that the user gave: "--fix zero=9" instead of
/// "--set parallel.zero=9", "--model foo" instead of a file without a name.
[[nodiscard]] ConfigError as_written(const ConfigError& error, const app::SpaceRequest& request);

}  // namespace lockstep::cli
