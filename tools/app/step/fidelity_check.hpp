#pragma once

#include <optional>

#include "sim/base/units.hpp"
#include "strategies/scenario/scenario.hpp"
#include "strategies/step/simulate.hpp"

namespace lockstep::app {

struct TrainingStepRequest;

/// A step without what-ifs, simulated with representatives and with all ranks: what the choice of
/// representatives costs in accuracy.
struct FidelityCheck {
  int ranks = 0;
  Duration representatives;
  Duration all;

  /// Signed, (representatives - all) / all.
  [[nodiscard]] double relative_error() const {
    return representatives.seconds() / all.seconds() - 1;
  }
};

/// If the simulator chose representatives by itself: the error of that choice, on the same ranks if
/// the unchanged step can have all, else on fewer replicas with as many microbatches each. None if
/// neither is possible, or `fidelity` was not chosen by the simulator.
[[nodiscard]] std::optional<FidelityCheck> check_fidelity(const TrainingStepRequest& request,
                                                          const Scenario& scenario,
                                                          Fidelity fidelity);

}  // namespace lockstep::app
