#pragma once

#include <string>

#include "tools/app/step/memory_changes.hpp"
#include "tools/lockstep/output/app.hpp"

namespace lockstep::cli {

/// Which rank lacks how much, the largest consumers of memory, and what would fit.
[[nodiscard]] std::string text_of(const MemoryShortfall& shortfall);

}  // namespace lockstep::cli
