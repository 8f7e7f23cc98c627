#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// Searches as jobs of an existing engine: shards next to each other, then a merge.
namespace lockstep::app {

enum class JobEngine : std::uint8_t { slurm, parallel, hyperqueue };
/// By the names of `plan --emit`.
[[nodiscard]] const std::vector<std::pair<std::string_view, JobEngine>>& job_engines();

struct JobScriptRequest {
  JobEngine engine = JobEngine::slurm;
  std::uint64_t shards = 1;
  std::string store = "plan.db";         // that the shards are merged into
  std::vector<std::string> arguments{};  // of `lockstep plan`, without those of shards and stores
};

/// Most tasks of an array: Slurm's default is 1001 with the number 0.
inline constexpr std::uint64_t kMostTasks = 1000;

/// A bash script. It starts again what a kill or a time limit ended, without simulating twice.
[[nodiscard]] std::string job_script(const JobScriptRequest& request);

/// A word as a shell takes it.
[[nodiscard]] std::string shell_word(std::string_view word);

}  // namespace lockstep::app
