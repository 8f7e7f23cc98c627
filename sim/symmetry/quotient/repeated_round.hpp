#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace lockstep::fold {

/// A transfer of a round from one lane to another, which starts when both have reached it.
struct RoundTransfer {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  std::int64_t takes_ps = 0;
  std::int64_t reduces_ps = 0;  // at the receiver, after it
};

/// Does a round `times` times over, given the instants at which lanes reach it: each lane at most
/// sends once and receives once in it. Returns how many of the rounds were skipped, in all.
///
/// Lanes that are joined by transfers form paths and cycles; each is its own. With E_i the instant
/// at which lane i reaches a round, its next one is
///   E_i' = max(max(E_i, E_{i+1}) + d_i, max(E_{i-1}, E_i) + d_{i-1} + r_i),
/// a map F with F(E + c) = F(E) + c for a constant c on all lanes of a path or cycle. So once
/// F(E) = E + c, every further round adds c again, and the rest is one multiplication.
[[nodiscard]] std::int64_t repeat_round(std::span<const RoundTransfer> round, std::int64_t times,
                                        std::span<std::int64_t> reached_ps);

}  // namespace lockstep::fold
