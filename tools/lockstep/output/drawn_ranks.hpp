#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "strategies/step/lowering/costs/rank_speed.hpp"
#include "tools/app/json.hpp"
#include "tools/app/step/run_step.hpp"

namespace lockstep::cli {

/// Ranks that were drawn, or whose speed was, as simulated.
struct DrawnRanks {
  const std::set<int>& ranks;
  const RankSpeeds& speeds;
  int of = 0;  // ranks of the job
  std::uint64_t seed = 0;
};

[[nodiscard]] inline DrawnRanks drawn_ranks_of(const TrainingStepResult& result) {
  return {result.drawn_ranks, result.options.speeds, result.scenario.parallel.ranks(),
          result.scenario.seed};
}

/// "3 of 256 GPUs drawn with seed 7: rank 112 at 0.824, rank 189 at 0.822, rank 227 at 0.915"; the
/// first four only.
[[nodiscard]] std::string drawn_line(const DrawnRanks& drawn);
/// "112 at 0.824, 189 at 0.822", at most `most`.
[[nodiscard]] std::string drawn_list(const DrawnRanks& drawn, std::size_t most = SIZE_MAX);
/// Objects with rank, speed and windows.
[[nodiscard]] app::Json drawn_json(const DrawnRanks& drawn);

}  // namespace lockstep::cli
