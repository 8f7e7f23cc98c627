#pragma once

#include <string>
#include <vector>

namespace lockstep::cli {

/// "--set parallel.tp=2 --set parallel.dp=4", for a POSIX shell; empty for no assignment.
[[nodiscard]] std::string set_options(const std::vector<std::string>& assignments);

}  // namespace lockstep::cli
