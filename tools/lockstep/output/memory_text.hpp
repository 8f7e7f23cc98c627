#pragma once

#include <string>

#include "tools/app/step/memory_changes.hpp"
#include "tools/lockstep/output/app.hpp"

namespace lockstep::cli {

/// The rank that exceeds its memory and by how much, the largest consumers, and changes that fit.
[[nodiscard]] std::string text_of(const MemoryShortfall& shortfall);

}  // namespace lockstep::cli
