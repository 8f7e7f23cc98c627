#pragma once

#include "strategies/layout/parallel_config.hpp"

namespace lockstep {

/// The recipe of a layout as its step runs it: one that casts before it gathers stores its operands
/// and reduces their maxima where tensor parallelism gathers them.
[[nodiscard]] inline PrecisionRecipe settled_recipe(const ParallelConfig& parallel) {
  PrecisionRecipe out = parallel.recipe;
  if (out.casts_before_gather && parallel.sequence_parallel && parallel.tp > 1) {
    out.stores_operands = true;
    out.reduces_maxima = true;
  }
  return out;
}

}  // namespace lockstep
