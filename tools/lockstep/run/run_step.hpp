#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/trace/summary.hpp"
#include "strategies/training/scenario.hpp"
#include "strategies/training/simulate.hpp"
#include "strategies/validation/confidence.hpp"
#include "tools/lockstep/run/link_use.hpp"
#include "tools/lockstep/run/rank_memory.hpp"
#include "tools/lockstep/run/throughput.hpp"

/// One training step of a scenario, from its file to what is printed of it.
namespace lockstep::cli {

struct RunQuestion {
  std::string file;
  std::vector<std::string> overrides{};  // "parallel.tp=4"
  SimulationOptions simulation{};
  std::string fidelity = "auto";                                     // as written
  std::string network = "fluid";                                     // as written
  std::string fold = "auto";                                         // as written
  bool classes = false;                                              // to be told one by one
  std::vector<std::pair<std::string, std::string>> rank_settings{};  // "17", "compute=0.8"
  bool ignore_memory = false;
  std::string calibration{};  // file; empty: the shipped figures
  std::string trace{};        // file to write; empty: none
  std::vector<int> trace_ranks{};
  std::optional<std::pair<TimePoint, TimePoint>> trace_window{};
};

/// Parameter averaging at the end of one step of several.
struct AveragingSteps {
  std::int64_t every = 1;
  Duration with;     // the step that averages parameters
  Duration without;  // every other
};

struct RunAnswer {
  Scenario scenario;
  SimulatedStep step;   // of parameter averaging: the one that averages
  StepSummary summary;  // of parameter averaging: of the mean step, as all that is reported
  Throughput throughput;
  RankMemory memory;  // of the rank that needs the most, in the step that needs the most
  std::vector<LinkUse> links{};
  std::string nccl{};  // version whose tuning was followed
  std::optional<Confidence> confidence{};
  std::string links_of_box{};                 // with a box: which of its links were taken, in words
  std::optional<AveragingSteps> averaging{};  // where only one step of several averages
};

/// Throws ConfigError for what the scenario has wrong, Refusal where the memory does not suffice
/// (unless it is to be ignored) or the step cannot end, IoError where the trace cannot be written.
[[nodiscard]] RunAnswer run_step(const RunQuestion& question);

}  // namespace lockstep::cli
