#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sim/execute/kernels/execution_error.hpp"
#include "sim/execute/program/allocation_record.hpp"
#include "sim/execute/program/execution_options.hpp"

/// Runs a training step's program on real numbers, in float64 or float32, for every rank of its
/// mesh and every host: the very program that is simulated. Operations of different ranks and
/// streams are interleaved in an order drawn from a seed, or as a timeline says; only what the
/// program orders is ordered.
namespace lockstep {

/// A weight or optimizer state, or a copy or shard of one, on one rank (hosts: ranks of the mesh +
/// their number).
template <class Real>
struct BasicHeldWeight {
  int rank = 0;
  std::string name;  // of the weight, whatever the copy is called; of a state: its own
  std::string copy;  // of what is held
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
  /// The program must outlive it. Errors: InternalError as unroll(); ExecutionError for
  /// communication with who does not exist, and for a timeline that is not of all its ranks.
  explicit BasicProgramExecution(const Program& program, ExecutionOptions options = {});
  ~BasicProgramExecution();
  BasicProgramExecution(const BasicProgramExecution&) = delete;
  BasicProgramExecution& operator=(const BasicProgramExecution&) = delete;

  /// One training step; returns the loss. Errors: ExecutionError, which names ranks and operations;
  /// where nobody can go on, who waits for whom.
  double step();

  /// What ranks hold of weights between steps. Left out is what the next step overwrites before it
  /// reads it.
  [[nodiscard]] std::vector<BasicHeldWeight<Real>> weights();
  /// Likewise of the optimizer's moments.
  [[nodiscard]] std::vector<BasicHeldWeight<Real>> states();

  /// Goes on where another execution of the same command graph has stopped, with what its ranks
  /// keep from step to step, by rank, name and position, and its number of steps: so that steps of
  /// different programs follow each other. Errors: ExecutionError for what it does not keep, or in
  /// other parts.
  void take_over(const BasicProgramExecution& from);

  /// Of a step, of all ranks.
  [[nodiscard]] std::int64_t operations() const;
  /// Of the last step on a rank, in simulated order. Errors: InternalError without a timeline.
  [[nodiscard]] AllocationRecord allocations(int rank) const;

  /// For the sources of this folder.
  [[nodiscard]] execution::ExecutionParts<Real>& parts() { return *parts_; }

 private:
  std::unique_ptr<execution::ExecutionParts<Real>> parts_;
};
using ProgramExecution = BasicProgramExecution<double>;

class WeightBound;

/// Where two executions of one model differ most, by what is allowed there.
template <class Real>
struct BasicWeightDifference {
  double value = 0;                    // below 0: there is nothing to compare
  double allowed = 0;                  // 0: no bound was given
  BasicHeldWeight<Real> where{};       // in the first of them
  std::int64_t index = 0;              // in the whole tensor
  std::vector<std::string> missing{};  // weights of the reference of which elements are nowhere
  [[nodiscard]] std::string text() const;
};
using WeightDifference = BasicWeightDifference<double>;

/// Compares everything that `execution` holds of weights, on every rank (or on some `ranks`), with
/// the whole weights of `reference`, an execution on one device; with a `bound` the difference is
/// taken that is the largest share of what is allowed. Errors: ExecutionError for a weight that the
/// reference has not.
template <class Real>
[[nodiscard]] BasicWeightDifference<Real> largest_difference(BasicProgramExecution<Real>& execution,
                                                             BasicProgramExecution<Real>& reference,
                                                             const std::vector<int>& ranks = {},
                                                             const WeightBound* bound = nullptr);

/// Likewise of the optimizer's moments, which show what weights may hide: Adam steps the same way
/// whatever a gradient is scaled by.
template <class Real>
[[nodiscard]] BasicWeightDifference<Real> largest_state_difference(
    BasicProgramExecution<Real>& execution, BasicProgramExecution<Real>& reference,
    const std::vector<int>& ranks = {});

}  // namespace lockstep
