#pragma once

#include <string>

namespace lockstep::app {

/// A name without a slash or ".json" is that of a shipped scenario, unless there is such a file.
/// Errors: RequestError for a name that is neither.
[[nodiscard]] std::string scenario_file(const std::string& name);

}  // namespace lockstep::app
