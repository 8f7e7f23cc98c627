#pragma once

#include <cstdint>

#include "sim/execute/command_graph/backend.hpp"
#include "sim/execute/device_program/training_step_commands.hpp"
#include "sim/execute/program/computations.hpp"
#include "sim/execute/program/value_store.hpp"
#include "sim/execute/program_order/drawn_order.hpp"

namespace lockstep::execution {

/// Executes a step on a device instead of the host: copies persistent state there, initializes
/// everything else to NaN, and copies back what was written. Precision `Real`.
template <class Real>
class DeviceTrainingStep {
 public:
  DeviceTrainingStep(ExecutionState& state, const ExecutionOptions& options,
                     ValueStore<Real>& values, Computations<Real>& computations);

  /// Throws ExecutionError like the host's; DeviceError.
  void run();

 private:
  [[nodiscard]] TrainingStepInputs<Real> needs();
  void bring(LoadedCommandGraph& loaded);
  void fetch(LoadedCommandGraph& loaded);

  ExecutionState& state_;
  const ExecutionOptions& options_;
  ValueStore<Real>& values_;
  Computations<Real>& computations_;
  TrainingStepCommands<Real> commands_;
  DrawnOrder order_;
};

}  // namespace lockstep::execution
