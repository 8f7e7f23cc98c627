#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/schedule/step_ends.hpp"

namespace lockstep::fold {

/// A transfer of a round from one lane to another; starts when both have reached it.
struct RoundTransfer {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  std::int64_t takes_ps = 0;
  std::int64_t reduces_ps = 0;  // reduction at the receiver, afterwards
};

/// Where the ends of rounds are logged, by lane: the first is that of step `first`.
struct RoundLog {
  StepEndsLog* log = nullptr;  // null: nowhere
  std::int64_t first = 0;
};

struct RepeatedRounds {
  std::int64_t skipped = 0;    // rounds without a transfer that had to be worked out
  std::uint64_t advanced = 0;  // transfers worked out
};

/// Advances lanes by `times` equal rounds, given the instants at which they reach the first. A lane
/// sends and receives at most once per round.
///
/// Lanes joined by transfers form independent paths and cycles. With E_i the instant at which lane
/// i reaches a round, the next is
///   E_i' = max(max(E_i, E_{i+1}) + d_i, max(E_{i-1}, E_i) + d_{i-1} + r_i),
/// a map F with F(E + c) = F(E) + c for a constant c on a path or cycle. So once F(E) = E + c,
/// every further round adds c, and the rest is one multiplication. As E_i' depends on three lanes
/// only, the same holds lane by lane: where a round added the same c to a lane and both neighbors,
/// the next adds c to that lane. Others are advanced one by one once they are few: a delay spreads
/// one lane a round in both directions, at the cost of its two fronts. `log` receives the ends of
/// lanes that send or receive.
[[nodiscard]] RepeatedRounds repeat_round(std::span<const RoundTransfer> round, std::int64_t times,
                                          std::span<std::int64_t> reached_ps,
                                          const RoundLog& log = {});

}  // namespace lockstep::fold
