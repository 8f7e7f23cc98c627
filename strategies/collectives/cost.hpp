#pragma once

#include <cstdint>
#include <optional>

#include "sim/base/units.hpp"

namespace lockstep {

/// The closed form of a schedule, in messages and blocks, for one full-duplex port per rank on an
/// otherwise unlimited network.
struct CollectiveCost {
  std::int64_t rounds = 0;          // maximum steps of a rank; sequential latencies
  std::int64_t path_blocks = 0;     // sequential blocks on the busiest ports
  std::int64_t reduced_blocks = 0;  // blocks reduced sequentially
  std::int64_t sent_blocks = 0;     // maximum over ranks
};

struct AlphaBeta {
  Duration alpha;             // per message
  Rate beta;                  // of every port, per direction
  std::optional<Rate> gamma;  // bytes reduced per second; none: reductions take no time
};

/// The work of `bytes`, `times` times. Throws OutOfRange on overflow.
[[nodiscard]] Int128 repeated_work(Bytes bytes, std::int64_t times);

/// rounds*alpha + path_blocks*block*beta + reduced_blocks*block*gamma, each term rounded once.
[[nodiscard]] Duration ideal_time(const CollectiveCost& cost, Bytes block, const AlphaBeta& model);

}  // namespace lockstep
