#pragma once

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sim/trace/summary.hpp"
#include "strategies/measure/confidence/confidence.hpp"
#include "strategies/measure/machine/machine_links.hpp"
#include "strategies/scenario/scenario.hpp"
#include "strategies/step/simulate.hpp"
#include "tools/app/inputs/cluster_request.hpp"
#include "tools/app/progress.hpp"
#include "tools/app/ranks/rank_draws.hpp"
#include "tools/app/ranks/speed_draw.hpp"
#include "tools/app/step/fidelity_check.hpp"
#include "tools/app/step/figure_factors.hpp"
#include "tools/app/step/metrics/cluster_facts.hpp"
#include "tools/app/step/metrics/link_use.hpp"
#include "tools/app/step/metrics/rank_classes.hpp"
#include "tools/app/step/metrics/rank_memory.hpp"
#include "tools/app/step/metrics/step_limits.hpp"
#include "tools/app/step/metrics/step_provenance.hpp"
#include "tools/app/step/metrics/throughput.hpp"
#include "tools/app/step/suggestions.hpp"
#include "tools/app/trace_size.hpp"

/// Simulates a training step of a scenario, from its file to the results.
namespace lockstep::app {

/// Ranks with a relative GPU speed, 1 being the device's. What is drawn of them is drawn with the
/// scenario's seed.
struct RankSpeedRange {
  RankChoice ranks{};
  SpeedDraw speed{};
  std::optional<SlowWindow> window{};  // at the speed in this time only, relative to theirs outside
  std::string option = "gpu_speed";    // for errors
};

inline constexpr int kFewRanks = 16;
/// Simulated operations, those of equivalent ranks once: up to about half a second.
inline constexpr std::size_t kQuickOperations = 2'000'000;

struct TrainingStepRequest {
  std::string file;
  std::optional<JsonDocument> document{};  // instead of a file
  std::vector<std::string> overrides{};    // "parallel.tp=4"
  SimulationOptions simulation{};          // its speeds override `speeds`
  std::vector<RankSpeedRange> speeds{};    // later ones override earlier ones
  LinkChangeRequest links{};
  std::optional<Rate> nic{};       // speed of every NIC and fabric link
  FigureFactors factors{};         // what if figures of the hardware were different
  std::size_t suggestions = 0;     // maximum number of layout changes to simulate
  bool suggests_if_quick = false;  // none for a step of more than kQuickOperations
  bool ignore_memory = false;      // simulate even if a rank needs more memory than its GPU has
  /// The step alone: no baseline next to what-ifs, no changes that would fit into memory.
  bool step_only = false;
  bool compares_ranks = false;  // the baseline has TrainingStepBaseline::classes
  std::string calibration{};    // file; empty: the shipped parameters
  std::string trace{};          // file to write; empty: none
  std::vector<int> trace_ranks{};
  std::optional<std::pair<TimePoint, TimePoint>> trace_window{};
  TraceDetail trace_detail = TraceDetail::kernel;
  /// Records link loads over time of a step of at most kFewRanks ranks. Unfolded, so it takes
  /// longer.
  bool link_series = false;
  OnTraceSize on_trace_size{};  // called before the trace is written
  OnProgress on_progress{};
  OnPhase on_phase{};

  void begin(const std::string& phase) const {
    if (on_phase) on_phase({phase});
  }
};

/// Parameter averaging, or an outer step, after some of several steps.
struct AveragingSteps {
  std::int64_t every = 1;
  std::int64_t count = 1;  // of `every` steps
  Duration with;           // time of a step that averages parameters; of several, the mean
  Duration without;        // time of any other step
};

/// The step without modified GPU speeds, links and NICs, at the same fidelity.
struct TrainingStepBaseline {
  Duration step;
  /// If asked for: the classes of the modified step, with partings from the times of this one. None
  /// where ranks stand for their role.
  std::optional<std::vector<ShownClass>> classes{};
};

struct TrainingStepResult {
  Scenario scenario;
  SimulatedTrainingStep step;  // with parameter averaging, the one that averages
  TrainingStepSummary
      summary;  // with parameter averaging, the mean over a cycle, like all reported values
  Throughput throughput;
  RankMemory memory;  // of the rank with the highest need
  std::vector<LinkUse> links{};
  LinkEffects link_changes{};
  std::optional<TrainingStepBaseline> baseline{};  // if GPU speeds, links or NICs are modified
  std::optional<FidelityCheck> fidelity_check{};   // if representatives were simulated unasked
  std::vector<TrainingStepLimit> limits{};
  StepProvenance provenance{};  // with parameter averaging, of the step that averages
  TrainingStepSuggestions suggestions{};
  ClusterFacts facts{};
  std::string nccl{};           // version of the tuning used
  SimulationOptions options{};  // of the simulation
  std::optional<Confidence> confidence{};
  std::optional<MachineLinkUse> machine_links{};  // with a machine calibration
  std::optional<AveragingSteps> averaging{};      // with parameter averaging
  std::set<int> drawn_ranks{};  // who, or whose speed, was drawn, with scenario.seed
};

/// Checks memory before simulating. Throws ConfigError for an invalid scenario, DoesNotFit if a GPU
/// has too little memory (unless ignored), Refusal for a deadlock, IoError if the trace cannot be
/// written.
[[nodiscard]] TrainingStepResult run_step(const TrainingStepRequest& request);

}  // namespace lockstep::app
