#pragma once

#include <string>

namespace lockstep::app {

/// The file of a scenario: a name without a slash or ".json" is a shipped scenario unless such a
/// file exists. Throws RequestError for an unknown name.
[[nodiscard]] std::string scenario_file(const std::string& name);

}  // namespace lockstep::app
