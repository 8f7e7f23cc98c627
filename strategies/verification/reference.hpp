#pragma once

#include <cstdint>
#include <memory>

#include "sim/execute/run_program/execute_program.hpp"
#include "strategies/layout/parallel_config.hpp"
#include "strategies/models/model_config.hpp"

namespace lockstep {

/// What a strategy is compared with, trained in step with it.
template <class Real>
class Reference {
 public:
  virtual ~Reference() = default;
  /// Returns the loss.
  virtual double step() = 0;
  /// Devices that hold whole weights: one, or one for each data-parallel replica.
  [[nodiscard]] virtual int replicas() const { return 1; }
  [[nodiscard]] virtual BasicProgramExecution<Real>& execution(int replica) = 0;
};

/// How much of a step's batch one device takes at once.
enum class ReferenceBatch : std::uint8_t {
  whole,  // all of it: nothing is accumulated
  alike,  // as all replicas together: its microbatches are the layout's
};

/// The layout of one device. A net with batch norm takes the replicas' microbatches one after the
/// other in any case, as each has statistics of its own.
[[nodiscard]] ParallelConfig single_device(const ModelConfig& model, const ParallelConfig& of,
                                           ReferenceBatch batch);

/// That device. `options`: seed, optimizer, and how experts drop tokens.
template <class Real>
[[nodiscard]] std::unique_ptr<Reference<Real>> one_device(const ModelConfig& model,
                                                          const ParallelConfig& alone,
                                                          const ExecutionOptions& options);

/// Every replica trains by itself, and after every `average_every` steps their weights are
/// averaged, all in one process.
template <class Real>
[[nodiscard]] std::unique_ptr<Reference<Real>> averaged_replicas(const ModelConfig& model,
                                                                 const ParallelConfig& parallel,
                                                                 const ExecutionOptions& options);

}  // namespace lockstep
