#pragma once

namespace lockstep::cli {

/// Large simulations fill hundreds of megabytes and empty them at the end: from here on memory
/// comes in large pieces and is not given back in between.
void tune_malloc();

}  // namespace lockstep::cli
