#pragma once

#include <array>
#include <string>
#include <vector>

#include "sim/cost/basis.hpp"
#include "sim/cost/cost_model.hpp"
#include "sim/trace/summary.hpp"
#include "strategies/scenario/scenario.hpp"
#include "strategies/step/simulate.hpp"

namespace lockstep::app {

/// What the step's time rests on. Every operation of the critical path counts for the one parameter
/// that limits it most: a kernel's rate of computation or of memory, the host time of a launch, the
/// bandwidth or latency of a link together with the costs of a collective. Waits do not count.
struct StepProvenance {
  struct Value {
    Basis basis{};
    double fraction = 0;  // of the attributed time
  };
  std::array<double, kProvenances> fractions{};  // by Provenance; their sum is 1, or 0 of no time
  std::vector<Value> values{};                   // largest first

  /// Assumed or announced.
  [[nodiscard]] double unsure() const;
};

/// `summary` is that of the step's timeline; `cost` its kernel times.
[[nodiscard]] StepProvenance step_provenance(const Scenario& scenario, const CostModel& cost,
                                             const SimulatedTrainingStep& step,
                                             const TrainingStepSummary& summary);

}  // namespace lockstep::app
