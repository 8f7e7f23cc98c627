#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "strategies/collectives/algorithm.hpp"

/// Larger schedules from smaller ones: stages one after the other, chunks that follow one another
/// through stages, stripes side by side. A composed step is the part's own step, its names changed
/// in place; nothing is tabled. Parts have no slots and leave their result in the data.
namespace lockstep {

/// A part of a larger schedule, played by groups of ranks side by side.
struct Stage {
  SchedulePtr part;
  /// The part's rank i is the group's first rank + i * stride.
  int stride = 1;
  /// The ranks below this one make up whole groups; the others have nothing to do.
  int members = 0;
  /// The part's block b is the run of `scale` blocks from offset(rank) + b * scale. All ranks of a
  /// group have the same offset; none: 0.
  std::int64_t scale = 1;
  std::function<std::int64_t(int rank)> offset{};
};

/// The stages one after the other, rank by rank: the first step of a stage in any lane waits for
/// the last step of the stage before in every lane. A stage is as long on every rank as on the one
/// with most steps, so that a step's index is its round; phases are passed on.
[[nodiscard]] SchedulePtr in_sequence(int ranks, std::int64_t blocks, std::vector<Stage> stages);

/// The same for `chunks` messages of `blocks` blocks one behind the other, every stage in lanes of
/// its own: a chunk goes through a stage when the chunk before has left it and it has itself
/// left the stage before. One chunk is in_sequence().
[[nodiscard]] SchedulePtr in_pipeline(int ranks, std::int64_t blocks, std::vector<Stage> stages,
                                      std::int64_t chunks);

/// Which rank sits at which place, and back; both none: every rank at the place of its number.
struct RankOrder {
  std::function<int(int place)> rank_at{};
  std::function<int(int rank)> place_of{};
};

/// A schedule whose rank i is the rank at place i.
struct Stripe {
  SchedulePtr part;
  RankOrder order{};
};

/// Every stripe on a slice of its own, all slices equally long, in lanes of its own. All parts have
/// the same number of ranks. Phases that all of them share are passed on.
[[nodiscard]] SchedulePtr side_by_side(std::vector<Stripe> stripes);

}  // namespace lockstep
