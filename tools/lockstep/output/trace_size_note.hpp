#pragma once

#include <string>

#include "tools/app/trace_size.hpp"
#include "tools/lockstep/output/app.hpp"

namespace lockstep::cli {

/// Reports on stderr that a trace is large, before it is written, and what makes it smaller.
[[nodiscard]] OnTraceSize trace_size_note(const std::string& file, const std::string& smaller);

}  // namespace lockstep::cli
