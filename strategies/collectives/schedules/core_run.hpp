#pragma once

#include "strategies/collectives/schedules/extra_rank.hpp"

namespace lockstep {

/// With one block per rank: the blocks of `length` core ranks from index `first` on, with those of
/// their extra ranks. They are contiguous, since every extra rank follows its partner.
[[nodiscard]] inline Chunk core_run(const PowerOfTwoCore& core, int first, int length) {
  const int begin = core.rank_of(first);
  return {Buffer::data, begin, core.rank_of(first + length) - begin};
}

}  // namespace lockstep
