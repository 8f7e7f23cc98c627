#pragma once

#include <string>

#include "tools/app/trace_size.hpp"
#include "tools/lockstep/output/app.hpp"

namespace lockstep::cli {

/// Warns on stderr before a large trace is written, with ways to make it smaller.
[[nodiscard]] OnTraceSize trace_size_note(const std::string& file, const std::string& smaller);

}  // namespace lockstep::cli
