#include "strategies/collectives/cost.hpp"

namespace lockstep {

Int128 repeated_work(Bytes bytes, std::int64_t times) {
  Int128 work = 0;
  if (__builtin_mul_overflow(work_of(bytes), Int128{times}, &work)) detail::throw_overflow("work");
  return work;
}

Duration ideal_time(const CollectiveCost& cost, Bytes block, const AlphaBeta& model) {
  Duration time = cost.rounds * model.alpha;
  time += time_for(repeated_work(block, cost.path_blocks), model.beta.steps());
  if (model.gamma)
    time += time_for(repeated_work(block, cost.reduced_blocks), model.gamma->steps());
  return time;
}

}  // namespace lockstep
