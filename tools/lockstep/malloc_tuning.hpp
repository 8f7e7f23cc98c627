#pragma once

namespace lockstep::cli {

/// Makes malloc request large pieces and keep them: large simulations fill and free hundreds of
/// megabytes.
void tune_malloc();

}  // namespace lockstep::cli
