#pragma once

#include "strategies/collectives/schedules/extra_rank.hpp"

namespace lockstep {

/// With one block per rank: the blocks of `length` ranks of the core from index `first` on and of
/// the extra ranks folded into them. They are one run, since every extra rank follows its partner.
[[nodiscard]] inline Chunk core_run(const PowerOfTwoCore& core, int first, int length) {
  const int begin = core.rank_of(first);
  return {Buffer::data, begin, core.rank_of(first + length) - begin};
}

}  // namespace lockstep
