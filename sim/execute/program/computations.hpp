#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "sim/execute/program/value_store.hpp"

namespace lockstep::execution {

/// Local computations of ranks, and the resulting loss.
template <class Real>
class Computations {
 public:
  Computations(const ExecutionState& state, const ExecutionOptions& options,
               ValueStore<Real>& values)
      : state_{state}, options_{options}, values_{values} {}

  void begin_step(int step);
  /// Throws ExecutionError naming the operation for missing or inconsistent operands.
  void run(const RankCursor& cursor, std::uint32_t operation);
  /// Loss of the step: sum over microbatches and over ranks with partial sums. Throws
  /// ExecutionError if replicas differ or no rank has it.
  [[nodiscard]] double loss() const;
  /// Records a rank's part of the loss computed elsewhere.
  void note_loss(int rank, std::uint32_t operation, double value) {
    losses_[{rank, operation}] = value;
  }
  /// Kernel parameters of an operation other than its operands.
  [[nodiscard]] KernelSettings settings(const RankCursor& cursor, std::uint32_t operation) const;
  /// Whether the operation accumulates into what it writes.
  [[nodiscard]] static bool adds(const Operation& operation, const Tensor& written);

 private:
  [[nodiscard]] KernelCall<Real> kernel_call(const RankCursor& cursor, std::uint32_t operation);
  [[nodiscard]] std::uint64_t draw_of(const RoleOperation& what) const;
  [[nodiscard]] std::int64_t first_sample(const RoleOperation& what, const Tensor& tensor) const;

  const ExecutionState& state_;
  const ExecutionOptions& options_;
  ValueStore<Real>& values_;
  int step_ = 0;
  std::map<std::pair<int, std::uint32_t>, double> losses_{};  // by rank and operation
};

}  // namespace lockstep::execution
