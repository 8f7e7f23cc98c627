#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/config/json/config_error.hpp"
#include "tools/app/jobs/run_jobs.hpp"
#include "tools/lockstep/parser/command_parser.hpp"

namespace lockstep::cli {

/// Options of `run` for several jobs on one cluster.
struct JobsOptions {
  std::vector<std::string> jobs{};    // "llama7b-256 parallel.tp=4"
  std::vector<std::string> places{};  // "spread", or a list of GPUs by job
  std::optional<int> gpus{};          // of the cluster
  int steps = 0;                      // of the longest job; 0: not given
};

void add_jobs(const Command& command, JobsOptions& given);

/// The step of SCENARIO|RESULT|POINT.
using StepOf = std::function<app::TrainingStepRequest(const std::string&)>;

/// `first`: of the scenario of the command. Throws UsageError, and what `step_of` throws.
[[nodiscard]] app::JobsRequest jobs_request(const JobsOptions& given,
                                            const app::TrainingStepRequest& first,
                                            const StepOf& step_of);

/// Of an error in an override of another job, which is written after --job.
[[nodiscard]] ConfigError as_written(const ConfigError& error, const app::JobsRequest& request);

}  // namespace lockstep::cli
