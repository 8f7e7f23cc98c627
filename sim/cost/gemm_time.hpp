#pragma once

#include <cstdint>

#include "sim/cost/device_model.hpp"

namespace lockstep {

/// `batches` GEMMs of rows * depth by depth * columns.
struct GemmShape {
  std::int64_t batches = 1;
  std::int64_t rows = 1;
  std::int64_t columns = 1;
  std::int64_t depth = 1;
  /// The depth is tokens: both operands lie token by token, so that no row begins at multiples of
  /// it.
  bool over_tokens = false;
};

/// Seconds that the multiprocessors need, launch and memory apart.
/// The result is cut into tiles, and each multiprocessor makes one after the other, so that 133
/// tiles take 132 multiprocessors as long as 264 do; the depth may be cut into parts to have more
/// of them, which costs memory traffic. The library picks the fastest tile and number of parts.
/// `peak` is of the whole device; `memory` bytes per second.
[[nodiscard]] double gemm_seconds(const GemmShape& shape, const GemmParameters& figures,
                                  FlopRate peak, std::int64_t multiprocessors, double memory);

}  // namespace lockstep
