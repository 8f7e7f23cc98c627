#pragma once

#include "strategies/collectives/algorithm.hpp"
#include "strategies/collectives/schedules/block_schedule.hpp"

namespace lockstep {

/// n ranks numbered from the root: the root is position 0.
class RootedSchedule : public BlockSchedule {
 protected:
  RootedSchedule(int n, int root, std::int64_t blocks) : BlockSchedule(n, blocks), root_{root} {}

  [[nodiscard]] int position_of(int rank) const { return behind(rank, root_); }
  [[nodiscard]] int rank_at(int position) const { return ahead(position, root_); }

 private:
  int root_;
};

namespace rows {

/// Adapts a plain function of n and root to the registry's function of an input.
template <SchedulePtr (*make)(int n, int root)>
SchedulePtr of_root(const AlgorithmInput& input) {
  return make(input.n, input.root);
}

}  // namespace rows
}  // namespace lockstep
