#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sim/execute/run_program/execute_program.hpp"

namespace lockstep {

/// The operation after which an execution first holds something else than its reference.
struct FirstDifference {
  int rank = 0;           // hosts: ranks of the mesh + their number
  std::string operation;  // "rank 3: block 1 microbatch 0: mlp.down"
  std::string tensor;
  int position = 0;          // in the chain of blocks; 0 where the tensor has none
  int microbatch = 0;        // likewise
  std::int64_t element = 0;  // in the whole tensor
  double value = 0;
  double expected = 0;
  std::string reads;  // "mlp.down.partial from sum_mlp (all_reduce)", one after another

  /// "rank 3: block 1 microbatch 0: mlp.down writes mlp.down.output, element 5 is 0.25 where one
  /// device has 0.31; it reads mlp.down.partial from sum_mlp (all_reduce)".
  [[nodiscard]] std::string text() const;
};

/// After a step of both: looks through what the execution has written, in the order in which the
/// operations ended that last wrote it, for the first instance that the reference has too (the same
/// name, position and microbatch, written by the same operation or a part of it) and of which some
/// element is further apart than tolerance * max(1, |expected|). Left out are summands
/// (Tensor::partial), slots of experts (a bag), what has other dimensions in the reference, and
/// microbatches where it has fewer or more of them. None in simulated order, where nothing is
/// retained, but of what is resident.
template <class Real>
[[nodiscard]] std::optional<FirstDifference> first_difference(
    BasicProgramExecution<Real>& execution, BasicProgramExecution<Real>& reference,
    double tolerance);

}  // namespace lockstep
