#pragma once

#include <cstdint>

#include "sim/execute/command_graph/backend.hpp"
#include "sim/execute/device_program/training_step_commands.hpp"
#include "sim/execute/program/computations.hpp"
#include "sim/execute/program/value_store.hpp"
#include "sim/execute/program_order/drawn_order.hpp"

namespace lockstep::execution {

/// Does a step on a device in place of the host: what ranks keep from step to step is brought
/// there, everything else is NaN at first, and all that was written is fetched. In the precision of
/// `Real`.
template <class Real>
class DeviceTrainingStep {
 public:
  DeviceTrainingStep(ExecutionState& state, const ExecutionOptions& options,
                     ValueStore<Real>& values, Computations<Real>& computations);

  /// Errors: ExecutionError as the host's; DeviceError.
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
