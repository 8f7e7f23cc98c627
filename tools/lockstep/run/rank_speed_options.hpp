#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tools/app/step/run_step.hpp"

namespace lockstep::cli {

/// --gpu-speed RANKS=SPEED and --set-rank RANKS SETTINGS, both repeatable. RANKS: "17", "0..63",
/// "all" or "random:1%"; SETTINGS: "compute=0.8", or "compute=0.8, from=1 s, until=2 s" for a time
/// of the step. Single ranks of --set-rank override ranges. Throws UsageError.
[[nodiscard]] std::vector<app::RankSpeedRange> parse_rank_speeds(
    const std::vector<std::string>& gpu_speeds,
    const std::vector<std::pair<std::string, std::string>>& rank_settings);

}  // namespace lockstep::cli
