#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "strategies/collectives/algorithm.hpp"

/// Composition of schedules: sequential stages, chunks pipelined through stages, parallel stripes.
/// A composed step is the part's own step, renamed on access; nothing is stored. Parts must have no
/// slots and leave their result in the data buffer.
namespace lockstep {

/// A part of a larger schedule, executed by parallel groups of ranks.
struct Stage {
  SchedulePtr part;
  /// Rank i of the part is the group's first rank + i * stride.
  int stride = 1;
  /// Ranks below this number form whole groups; others are idle.
  int members = 0;
  /// Block b of the part is the run of `scale` blocks from offset(rank) + b * scale. All ranks of a
  /// group have the same offset; none: 0.
  std::int64_t scale = 1;
  std::function<std::int64_t(int rank)> offset{};
};

/// Stages in sequence on each rank: the first step of a stage in any lane waits for the last step
/// of the previous stage in every lane. Every rank gets as many steps per stage as the longest, so
/// a step's index is its round; phases are preserved.
[[nodiscard]] SchedulePtr in_sequence(int ranks, std::int64_t blocks, std::vector<Stage> stages);

/// The same for `chunks` pipelined messages of `blocks` blocks, each stage in lanes of its own: a
/// chunk enters a stage when the previous chunk has left it and it has left the previous stage
/// itself. One chunk is in_sequence().
[[nodiscard]] SchedulePtr in_pipeline(int ranks, std::int64_t blocks, std::vector<Stage> stages,
                                      std::int64_t chunks);

/// The part backwards in time: the last step comes first, and what was sent is received, by
/// `combine`. A broadcast becomes a reduce, a gather a scatter, an all-gather a reduce-scatter. The
/// part has one lane and no local operations, does not reduce, and no rank receives a block that it
/// has.
[[nodiscard]] SchedulePtr reversed(SchedulePtr part, Combine combine);

/// A permutation of ranks and its inverse; none: the identity.
struct RankOrder {
  std::function<int(int place)> rank_at{};
  std::function<int(int rank)> place_of{};
  /// Ranks so many apart, counted round the cycle of all, have places as many apart, all of them
  /// the same way round; 0: none known.
  int period = 0;
};

/// One permutation after another: place p is at outer(inner(p)).
[[nodiscard]] RankOrder composed(const RankOrder& outer, const RankOrder& inner);

/// A schedule executed by permuted ranks: its rank i is the rank at position i.
struct Stripe {
  SchedulePtr part;
  RankOrder order{};
};

/// Of a rank: the place of each stripe among its lanes, a permutation. What a rank does in one
/// instant it does in the order of its lanes.
using StripePlaces = std::function<int(int rank, int stripe)>;

/// Parallel stripes, each on its own slice of equal length and in its own lanes. All parts must
/// have the same number of ranks; with `places`, of lanes, too. Phases common to all are preserved.
[[nodiscard]] SchedulePtr side_by_side(std::vector<Stripe> stripes, StripePlaces places = {});

}  // namespace lockstep
