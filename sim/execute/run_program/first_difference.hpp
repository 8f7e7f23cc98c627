#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sim/execute/run_program/execute_program.hpp"

namespace lockstep {

/// The first operation whose result differs from the reference.
struct FirstDifference {
  int rank = 0;           // hosts: ranks of the mesh + host number
  std::string operation;  // "rank 3: block 1 microbatch 0: mlp.down"
  std::string tensor;
  int position = 0;          // in the chain of blocks; 0 if the tensor has none
  int microbatch = 0;        // 0 if the tensor has none
  std::int64_t element = 0;  // global
  double value = 0;
  double expected = 0;
  std::string reads;  // "mlp.down.partial from sum_mlp (all_reduce)", one after another

  /// "rank 3: block 1 microbatch 0: mlp.down writes mlp.down.output, element 5 is 0.25 where one
  /// device has 0.31; it reads mlp.down.partial from sum_mlp (all_reduce)".
  [[nodiscard]] std::string text() const;
};

/// After a step of both executions: searches written instances, in the order of their last write,
/// for the first that differs from the reference's instance with the same name, position,
/// microbatch and operation (or a part of it), of a microbatch called at the same position, by more
/// than tolerance * max(1, |expected|). Skips partial sums (Tensor::partial), slots of experts,
/// whose order is arbitrary, other dimensions, and different numbers of microbatches. In simulated
/// order only resident instances are available.
template <class Real>
[[nodiscard]] std::optional<FirstDifference> first_difference(
    BasicProgramExecution<Real>& execution, BasicProgramExecution<Real>& reference,
    double tolerance);

}  // namespace lockstep
