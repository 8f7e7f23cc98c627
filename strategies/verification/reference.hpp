#pragma once

#include <memory>

#include "sim/execute/host/program/execute_program.hpp"
#include "strategies/models/model_config.hpp"
#include "strategies/parallel/parallel_config.hpp"

namespace lockstep {

/// What a strategy is compared with, trained in step with it.
template <class Real>
class Reference {
 public:
  virtual ~Reference() = default;
  virtual double step() = 0;
  /// Holds whole weights, on one device.
  [[nodiscard]] virtual BasicProgramExecution<Real>& execution() = 0;
};

/// One device with all replicas' sequences in every microbatch; of a net with batch norm with their
/// microbatches one after the other, as each has statistics of its own.
[[nodiscard]] ParallelConfig single_device(const ModelConfig& model, const ParallelConfig& of);

/// The device that does what `single_device` says. `rule`: how experts of ranks with a capacity drop
/// tokens; null: none is dropped. It must outlive the reference.
template <class Real>
[[nodiscard]] std::unique_ptr<Reference<Real>> one_device(const ModelConfig& model,
                                                          const ParallelConfig& parallel,
                                                          const BasicExecutionOptions<Real>& options,
                                                          const DroppingRule* rule);

/// Every replica trains by itself, and every `average_every` steps their weights are averaged, all
/// in one process.
template <class Real>
[[nodiscard]] std::unique_ptr<Reference<Real>> averaged_replicas(
    const ModelConfig& model, const ParallelConfig& parallel,
    const BasicExecutionOptions<Real>& options);

}  // namespace lockstep
