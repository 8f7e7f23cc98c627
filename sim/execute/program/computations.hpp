#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "sim/execute/program/value_store.hpp"

namespace lockstep::execution {

/// What ranks compute on their own, and the loss that comes of it.
template <class Real>
class Computations {
 public:
  Computations(const ExecutionState& state, const ExecutionOptions& options,
               ValueStore<Real>& values)
      : state_{state}, options_{options}, values_{values} {}

  void begin_step(int step);
  /// Errors: ExecutionError for operands that are not there or do not fit, with the operation.
  void run(const RankCursor& cursor, std::uint32_t operation);
  /// Of the step: a sum over microbatches and over the ranks that have summands. Errors:
  /// ExecutionError where those that have it do not have the same, or nobody has.
  [[nodiscard]] double loss() const;
  /// A rank's part of the loss, where somebody else has computed it.
  void note_loss(int rank, std::uint32_t operation, double value) {
    losses_[{rank, operation}] = value;
  }
  /// Parameters of the operation's kernel in addition to its operands.
  [[nodiscard]] KernelSettings settings(const RankCursor& cursor, std::uint32_t operation) const;
  /// Whether what the operation writes there is added to what is held.
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
