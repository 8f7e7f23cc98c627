#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sim/execute/kernels/execution_error.hpp"
#include "sim/execute/program/allocation_record.hpp"
#include "sim/execute/program/execution_options.hpp"

/// Executes a training step's program on real numbers, in float64 or float32, for every rank and
/// host: the same program that is simulated. Operations of different ranks and streams are
/// interleaved randomly from a seed, or by a timeline, subject only to the program's dependencies.
namespace lockstep {

/// A weight or optimizer state, or a copy or shard of one, on one rank (hosts: ranks of the mesh +
/// host number).
template <class Real>
struct BasicHeldWeight {
  int rank = 0;
  std::string name;  // of the weight, for all copies; of a state: its own
  std::string copy;  // name of the copy
  int position = 0;
  const PartLayout* layout = nullptr;
  std::vector<Real>* values = nullptr;
};
using HeldWeight = BasicHeldWeight<double>;

namespace execution {
template <class Real>
class ExecutionParts;
}

template <class Real>  // float, double
class BasicProgramExecution {
 public:
  /// The program must outlive this object. Throws InternalError as unroll(); ExecutionError for
  /// communication with a missing rank or a timeline without all ranks.
  explicit BasicProgramExecution(const Program& program, ExecutionOptions options = {});
  ~BasicProgramExecution();
  BasicProgramExecution(const BasicProgramExecution&) = delete;
  BasicProgramExecution& operator=(const BasicProgramExecution&) = delete;

  /// Executes one training step; returns the loss. Throws ExecutionError naming ranks and
  /// operations, with the wait cycle on a deadlock.
  double step();

  /// Weights of all ranks between steps, except those that the next step overwrites before reading
  /// and copies that lag behind.
  [[nodiscard]] std::vector<BasicHeldWeight<Real>> weights();
  /// The same for the optimizer's moments, and for copies that lag behind.
  [[nodiscard]] std::vector<BasicHeldWeight<Real>> states();

  /// Continues from another execution of the same model: takes its persistent state by rank, name
  /// and position, and its step count, so that steps of different programs can alternate. Throws
  /// ExecutionError for missing or differently sharded state.
  void take_over(const BasicProgramExecution& from);

  /// Operations of a step, over all ranks.
  [[nodiscard]] std::int64_t operations() const;
  /// Allocations of the last step on a rank, in simulated order. InternalError without a timeline.
  [[nodiscard]] AllocationRecord allocations(int rank) const;

  /// Internal to this folder.
  [[nodiscard]] execution::ExecutionParts<Real>& parts() { return *parts_; }

 private:
  std::unique_ptr<execution::ExecutionParts<Real>> parts_;
};
using ProgramExecution = BasicProgramExecution<double>;

class WeightBound;

/// The largest difference between two executions, relative to its tolerance.
template <class Real>
struct BasicWeightDifference {
  double value = 0;                    // below 0: nothing to compare
  double allowed = 0;                  // 0: no bound given
  BasicHeldWeight<Real> where{};       // in the first execution
  std::int64_t index = 0;              // global
  std::vector<std::string> missing{};  // weights of the reference that are not fully covered
  [[nodiscard]] std::string text() const;
};
using WeightDifference = BasicWeightDifference<double>;

/// Compares all weights of `execution`, on every rank (or on some `ranks`), with the unsharded
/// weights of `reference`, an execution on one device; with a `bound`, differences are weighed by
/// it. Throws ExecutionError for a weight missing in the reference.
template <class Real>
[[nodiscard]] BasicWeightDifference<Real> largest_difference(BasicProgramExecution<Real>& execution,
                                                             BasicProgramExecution<Real>& reference,
                                                             const std::vector<int>& ranks = {},
                                                             const WeightBound* bound = nullptr);

/// The same for the optimizer's moments, which reveal errors that weights hide: Adam's step does
/// not depend on a gradient's scale.
template <class Real>
[[nodiscard]] BasicWeightDifference<Real> largest_state_difference(
    BasicProgramExecution<Real>& execution, BasicProgramExecution<Real>& reference,
    const std::vector<int>& ranks = {});
/// With the whole states that a reference holds, each weighed by `bound`.
template <class Real>
[[nodiscard]] BasicWeightDifference<Real> largest_state_difference(
    BasicProgramExecution<Real>& execution, const std::vector<BasicHeldWeight<Real>>& reference,
    const std::vector<int>& ranks, const WeightBound& bound);

}  // namespace lockstep
