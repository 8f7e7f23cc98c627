#pragma once

#include <cstdint>
#include <optional>

#include "sim/base/units.hpp"

namespace lockstep {

/// The closed form of a schedule, counted in messages and blocks, for ranks with one full-duplex
/// port each on an otherwise unlimited network.
struct CollectiveCost {
  std::int64_t rounds = 0;          // most steps of any rank; latencies paid one after the other
  std::int64_t path_blocks = 0;     // blocks that follow one another through the busiest ports
  std::int64_t reduced_blocks = 0;  // blocks reduced one after the other
  std::int64_t sent_blocks = 0;     // most blocks that one rank sends
};

struct AlphaBeta {
  Duration alpha;             // per message
  Rate beta;                  // of every port, each way
  std::optional<Rate> gamma;  // bytes reduced per second; none: reductions cost no time
};

/// The work of `bytes`, `times` over. Throws OutOfRange where it does not fit.
[[nodiscard]] Int128 repeated_work(Bytes bytes, std::int64_t times);

/// rounds*alpha + path_blocks*block*beta + reduced_blocks*block*gamma, each term rounded once.
[[nodiscard]] Duration ideal_time(const CollectiveCost& cost, Bytes block, const AlphaBeta& model);

}  // namespace lockstep
