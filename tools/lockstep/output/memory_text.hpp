#pragma once

#include <string>

#include "tools/app/step/memory_changes.hpp"
#include "tools/lockstep/output/app.hpp"

namespace lockstep::cli {

/// "mlp.up.output (24 layers, 3 microbatches)".
[[nodiscard]] std::string text_of(const PeakTensor& tensor);
/// "block 3 microbatch 1: mlp.up".
[[nodiscard]] std::string text_of(const PeakOperation& operation);

/// The rank that exceeds its memory and by how much, the largest consumers, and changes that fit.
[[nodiscard]] std::string text_of(const MemoryShortfall& shortfall);

}  // namespace lockstep::cli
