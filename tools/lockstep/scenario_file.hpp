#pragma once

#include <string>

namespace lockstep::cli {

/// A name without a slash or ".json" is that of a shipped scenario, unless there is such a file.
/// Errors: UsageError for a name that is neither.
[[nodiscard]] std::string scenario_file(const std::string& name);

}  // namespace lockstep::cli
