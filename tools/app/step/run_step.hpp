#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/trace/summary.hpp"
#include "strategies/measure/confidence/confidence.hpp"
#include "strategies/scenario/scenario.hpp"
#include "strategies/step/simulate.hpp"
#include "tools/app/progress.hpp"
#include "tools/app/step/link_use.hpp"
#include "tools/app/step/rank_memory.hpp"
#include "tools/app/step/throughput.hpp"

/// One training step of a scenario, from its file to its results.
namespace lockstep::app {

struct StepRequest {
  std::string file;
  std::vector<std::string> overrides{};  // "parallel.tp=4"
  SimulationOptions simulation{};
  bool ignore_memory = false;  // simulate even if a rank needs more memory than its GPU has
  std::string calibration{};   // file; empty: the shipped parameters
  std::string trace{};         // file to write; empty: none
  std::vector<int> trace_ranks{};
  std::optional<std::pair<TimePoint, TimePoint>> trace_window{};
  OnProgress on_progress{};
};

/// Parameter averaging at the end of one step of several.
struct AveragingSteps {
  std::int64_t every = 1;
  Duration with;     // the step that averages parameters
  Duration without;  // every other
};

struct StepResult {
  Scenario scenario;
  SimulatedStep step;   // of parameter averaging: the one that averages
  StepSummary summary;  // of parameter averaging: of the mean step, as all that is reported
  Throughput throughput;
  RankMemory memory;  // of the rank that needs the most, in the step that needs the most
  std::vector<LinkUse> links{};
  std::string nccl{};  // version whose tuning was followed
  std::optional<Confidence> confidence{};
  std::string machine_links{};  // with a machine: which of its links were taken, in words
  std::optional<AveragingSteps> averaging{};  // where only one step of several averages
};

/// Throws ConfigError for faults of the scenario, DoesNotFit if a GPU has too little memory (unless
/// the request ignores it), Refusal for a deadlock, IoError if the trace cannot be written.
[[nodiscard]] StepResult run_step(const StepRequest& request);

}  // namespace lockstep::app
