#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace lockstep::fold {

/// A transfer of a round from one lane to another; starts when both have reached it.
struct RoundTransfer {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  std::int64_t takes_ps = 0;
  std::int64_t reduces_ps = 0;  // reduction at the receiver, afterwards
};

/// Advances lanes by `times` equal rounds, given the instants at which they reach the first. A lane
/// sends and receives at most once per round. Returns the number of rounds skipped.
///
/// Lanes joined by transfers form independent paths and cycles. With E_i the instant at which lane
/// i reaches a round, the next is
///   E_i' = max(max(E_i, E_{i+1}) + d_i, max(E_{i-1}, E_i) + d_{i-1} + r_i),
/// a map F with F(E + c) = F(E) + c for a constant c on a path or cycle. So once F(E) = E + c,
/// every further round adds c, and the rest is one multiplication.
[[nodiscard]] std::int64_t repeat_round(std::span<const RoundTransfer> round, std::int64_t times,
                                        std::span<std::int64_t> reached_ps);

}  // namespace lockstep::fold
