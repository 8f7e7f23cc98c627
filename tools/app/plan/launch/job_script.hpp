#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// A search as jobs of a scheduler: concurrent shards, then a merge.
namespace lockstep::app {

enum class JobEngine : std::uint8_t { slurm, parallel, hyperqueue };
/// By the names of `plan --emit`.
[[nodiscard]] const std::vector<std::pair<std::string_view, JobEngine>>& job_engines();

struct JobScriptRequest {
  JobEngine engine = JobEngine::slurm;
  std::uint64_t shards = 1;
  std::string store = "plan.db";         // target of the merge
  std::vector<std::string> arguments{};  // of `lockstep plan`, without those of shards and stores
};

/// Maximum tasks of a job array (Slurm's default MaxArraySize is 1001, index 0 included).
inline constexpr std::uint64_t kMostTasks = 1000;

/// A bash script. Tasks ended by a kill or a time limit are requeued and resume from their stores.
[[nodiscard]] std::string job_script(const JobScriptRequest& request);

}  // namespace lockstep::app
