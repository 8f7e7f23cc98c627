#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/execute/kernels/lower_operation.hpp"
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
  /// An operation of a rank as kernels, and the layouts of the operands for which it is.
  struct Lowered {
    std::vector<const PartLayout*> layouts{};
    LoweredOperation operation{};
  };
  [[nodiscard]] KernelCall<Real> kernel_call(const RankCursor& cursor, std::uint32_t operation);
  /// Of the last call of this operation if its operands are the same parts; else lowered now.
  [[nodiscard]] const LoweredOperation& lowered(int rank, const KernelCall<Real>& call);
  [[nodiscard]] std::uint64_t draw_of(const RoleOperation& what) const;
  [[nodiscard]] std::int64_t first_sample(const RoleOperation& what, const Tensor& tensor) const;

  const ExecutionState& state_;
  const ExecutionOptions& options_;
  ValueStore<Real>& values_;
  int step_ = 0;
  std::vector<std::unordered_map<const Operation*, Lowered>> lowered_{};  // by rank; never walked
  std::map<std::pair<int, std::uint32_t>, double> losses_{};              // by rank and operation
};

}  // namespace lockstep::execution
