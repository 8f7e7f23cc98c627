#pragma once

#include <cstdlib>
#include <string_view>

#include "sim/config/json/config_error.hpp"

namespace lockstep::fuzz {

/// Runs `read`, which may throw ConfigError and nothing else. What must hold of such an error: it
/// has a problem, each one says something, and it says how many there are. `placed`: each problem
/// has a place within the text, unless it is about the file as a whole.
template <class Read>
void told(Read&& read) {
  try {
    read();
  } catch (const ConfigError& error) {
    if (error.problems().empty() || error.total() < error.problems().size()) std::abort();
    if (std::string_view{error.what()}.find("nothing was run") == std::string_view::npos)
      std::abort();
    for (const Problem& problem : error.problems())
      if (problem.message.empty() || (problem.at.line == 0) != (problem.at.column == 0))
        std::abort();
  }
}

}  // namespace lockstep::fuzz
