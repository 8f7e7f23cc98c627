#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/trace/summary.hpp"
#include "strategies/measure/confidence/confidence.hpp"
#include "strategies/scenario/scenario.hpp"
#include "strategies/step/simulate.hpp"
#include "tools/app/inputs/cluster_request.hpp"
#include "tools/app/progress.hpp"
#include "tools/app/step/metrics/cluster_facts.hpp"
#include "tools/app/step/metrics/link_use.hpp"
#include "tools/app/step/metrics/rank_memory.hpp"
#include "tools/app/step/metrics/step_limits.hpp"
#include "tools/app/step/metrics/throughput.hpp"
#include "tools/app/step/suggestions.hpp"
#include "tools/app/trace_size.hpp"

/// One training step of a scenario, from its file to its results.
namespace lockstep::app {

/// Ranks whose GPUs compute at another speed, 1 being the device's.
struct RankSpeedRange {
  int first = 0;
  std::optional<int> last{};  // included; none: up to the last rank
  double speed = 1;
};

struct TrainingStepRequest {
  std::string file;
  std::vector<std::string> overrides{};  // "parallel.tp=4"
  SimulationOptions simulation{};        // its speeds override those of `speeds`
  std::vector<RankSpeedRange> speeds{};  // later ones override earlier ones
  LinkChangeRequest links{};
  std::optional<Rate> nic{};    // speed of every NIC and fabric link
  std::size_t suggestions = 0;  // changes of the layout to simulate, at most
  bool ignore_memory = false;   // simulate even if a rank needs more memory than its GPU has
  std::string calibration{};    // file; empty: the shipped parameters
  std::string trace{};          // file to write; empty: none
  std::vector<int> trace_ranks{};
  std::optional<std::pair<TimePoint, TimePoint>> trace_window{};
  TraceDetail trace_detail = TraceDetail::kernel;
  OnTraceSize on_trace_size{};  // before the trace is written
  OnProgress on_progress{};
};

/// Parameter averaging at the end of one step of several.
struct AveragingSteps {
  std::int64_t every = 1;
  Duration with;     // the step that averages parameters
  Duration without;  // every other
};

/// The same step without the changes of GPU speeds, links and NICs, at the same fidelity.
struct TrainingStepBaseline {
  Duration step;
};

struct TrainingStepResult {
  Scenario scenario;
  SimulatedTrainingStep step;   // of parameter averaging: the one that averages
  TrainingStepSummary summary;  // of parameter averaging: of the mean step, as all that is reported
  Throughput throughput;
  RankMemory memory;  // of the rank that needs the most, in the step that needs the most
  std::vector<LinkUse> links{};
  std::vector<std::string> link_changes{};  // what was done to links, and how many routes changed
  std::optional<TrainingStepBaseline> baseline{};  // where GPU speeds, links or NICs were changed
  std::vector<TrainingStepLimit> limits{};
  TrainingStepSuggestions suggestions{};
  ClusterFacts facts{};
  std::string nccl{};  // version whose tuning was followed
  std::optional<Confidence> confidence{};
  std::string machine_links{};  // with a machine: which of its links were taken, in words
  std::optional<AveragingSteps> averaging{};  // where only one step of several averages
};

/// Memory is checked before anything is simulated. Throws ConfigError for faults of the scenario,
/// DoesNotFit if a GPU has too little memory (unless the request ignores it), Refusal for a
/// deadlock, IoError if the trace cannot be written.
[[nodiscard]] TrainingStepResult run_step(const TrainingStepRequest& request);

}  // namespace lockstep::app
