#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "sim/cost/cost_model.hpp"
#include "sim/program/kernel/attention_loads.hpp"
#include "strategies/step/lowering/costs/rank_speed.hpp"

namespace lockstep {

/// Times of kernels of which ranks, or microbatches, have unequal parts: attention over documents
/// (AttentionLoads) and experts of which one is busier (UnequalExperts). Ranks with the same times
/// throughout have the same load: a number.
class UnequalTimes {
 public:
  UnequalTimes(const Program& program, const CostModel& cost);

  [[nodiscard]] bool has(RoutineId routine, std::uint32_t operation) const {
    return !times_.empty() && times_.contains({routine, operation});
  }
  [[nodiscard]] Duration of(RoutineId routine, std::uint32_t operation, int microbatch,
                            std::uint32_t load) const;
  /// Speeds with the load of every rank that has another than rank 0.
  [[nodiscard]] RankSpeeds with_loads(RankSpeeds speeds) const;

 private:
  /// Per microbatch and place.
  using OfOperation = std::vector<std::vector<Duration>>;
  struct Timed {
    std::function<int(int)> place_of;  // of a rank
    OfOperation times;                 // one entry: of all microbatches
  };
  void add_attention(const Program& program, const CostModel& cost);
  void add_experts(const Program& program, const CostModel& cost);
  void number_loads(int ranks);

  std::map<std::pair<RoutineId, std::uint32_t>, Timed> times_;
  std::vector<std::uint32_t> load_of_;  // per rank; empty: all the same
  std::vector<int> first_rank_;         // per load
};

}  // namespace lockstep
