#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "sim/execute/run_program/execute_program.hpp"
#include "strategies/layout/parallel_config.hpp"
#include "strategies/models/model_config.hpp"

namespace lockstep {

/// The reference for a strategy, trained in lockstep with it.
template <class Real>
class Reference {
 public:
  virtual ~Reference() = default;
  /// Executes one step; returns the loss.
  virtual double step() = 0;
  /// Devices that hold unsharded weights: one, or one per data-parallel replica.
  [[nodiscard]] virtual int replicas() const { return 1; }
  [[nodiscard]] virtual BasicProgramExecution<Real>& execution(int replica) = 0;
  /// Its moments, and what DiLoCo's outer loop keeps.
  [[nodiscard]] virtual std::vector<BasicHeldWeight<Real>> states(int replica) {
    return execution(replica).states();
  }
};

/// How a reference divides the batch of a step.
enum class ReferenceBatch : std::uint8_t {
  whole,  // one microbatch: no accumulation
  alike,  // the layout's microbatches, all replicas combined
};

/// The layout of one device. With batch norm, replicas' microbatches are always processed
/// separately, as each has its own statistics.
[[nodiscard]] ParallelConfig single_device(const ModelConfig& model, const ParallelConfig& of,
                                           ReferenceBatch batch);

/// A single device. `options`: seed, optimizer, and how experts drop tokens.
template <class Real>
[[nodiscard]] std::unique_ptr<Reference<Real>> one_device(const ModelConfig& model,
                                                          const ParallelConfig& alone,
                                                          const ExecutionOptions& options);

/// Replicas train independently in one process; their weights are averaged after every
/// `average_every` steps, or take DiLoCo's outer steps.
template <class Real>
[[nodiscard]] std::unique_ptr<Reference<Real>> averaged_replicas(const ModelConfig& model,
                                                                 const ParallelConfig& parallel,
                                                                 const ExecutionOptions& options);

}  // namespace lockstep
