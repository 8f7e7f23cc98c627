#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "sim/trace/time_use.hpp"
#include "tools/app/compare/scenario_changes.hpp"
#include "tools/app/step/run_step.hpp"

/// Why one training step takes longer than another.
namespace lockstep::app {

struct CompareRequest {
  TrainingStepRequest a;
  TrainingStepRequest b;
  /// Whether they differ in more than their scenarios (links, GPU speeds, calibration): then that
  /// is one change.
  bool options_differ = false;
  /// Changes beyond this number are attributed in sequence; at most kMostShapleyChanges. 0: no
  /// attribution to changes.
  std::size_t shapley_changes = 6;
  /// If the simulator chose all ranks for one step and representatives for the other, both are of
  /// representatives.
  bool same_fidelity = false;
  OnPhase on_phase{};
};
inline constexpr std::size_t kMostShapleyChanges = 6;

/// Time on the critical paths by use.
struct UseDifference {
  TimeUse use{};
  Duration a;
  Duration b;
};

/// Time on the critical paths of operations of the same identity: role (pipeline stage), block of
/// the model, class of work.
struct PlaceDifference {
  std::string role;   // "stage 0"
  std::string block;  // "layer", "embedding"; empty: waits and operations outside blocks
  TimeUse use{};
  Duration a;
  Duration b;
};

/// How the difference is attributed to changes. shapley: the mean over all orders in which they
/// could be made (Shapley, A Value for n-person Games, 1953), from 2^n simulations; sequence: one
/// after the other, in the order given; joint: together, since no order was found
/// whose scenarios are all possible.
enum class Attribution : std::uint8_t { none, shapley, sequence, joint };

struct ChangeEffect {
  ScenarioChange change{};  // without keys: options other than the scenario
  double seconds = 0;       // its part of B - A
  double alone_s = 0;       // by which A changes with this change alone; shapley only
};

struct CompareResult {
  TrainingStepResult a;
  TrainingStepResult b;
  std::string regime_a;  // as regime_of()
  std::string regime_b;
  std::vector<UseDifference> uses{};      // largest difference first; sum up to B - A
  std::vector<PlaceDifference> places{};  // the same; empty with parameter averaging
  Attribution attribution = Attribution::none;
  std::vector<ChangeEffect> effects{};  // largest first, or in sequence; sum up to B - A
  std::size_t simulations = 0;          // besides A and B
  [[nodiscard]] Duration step_a() const { return a.throughput.step; }
  [[nodiscard]] Duration step_b() const { return b.throughput.step; }
};

/// Simulates both steps and the scenarios between them, and attributes the difference of their
/// times exactly: to uses and places on their critical paths, and to the changes of the scenario.
/// Scenarios between them need not fit into memory. Errors: as run_step() for A and B.
[[nodiscard]] CompareResult compare_steps(const CompareRequest& request);

}  // namespace lockstep::app
