#pragma once

#include <cstdint>

#include "sim/cost/device_model.hpp"

namespace lockstep {

/// `batches` GEMMs of rows x depth by depth x columns.
struct GemmShape {
  std::int64_t batches = 1;
  std::int64_t rows = 1;
  std::int64_t columns = 1;
  std::int64_t depth = 1;
  /// The depth dimension is tokens: both operands are stored token by token, so alignment of rows
  /// does not depend on it.
  bool over_tokens = false;
};

/// Seconds of a GEMM on the multiprocessors, without launch and memory. The result is divided into
/// tiles, processed in waves, so that 133 tiles on 132 multiprocessors take as long as 264; k may
/// be split to get more tiles at the cost of memory traffic. Uses the fastest tile shape and number
/// of splits, as libraries do. `peak`: of the whole device; `memory`: bytes per second.
[[nodiscard]] double gemm_seconds(const GemmShape& shape, const GemmParameters& figures,
                                  FlopRate peak, std::int64_t multiprocessors, double memory);

}  // namespace lockstep
