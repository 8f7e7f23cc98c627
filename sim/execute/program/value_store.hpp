#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "sim/execute/program/execution_options.hpp"
#include "sim/execute/program/execution_state.hpp"

namespace lockstep::execution {

/// A tensor instance on a rank.
template <class Real>
struct HeldValues {
  std::vector<Real> values{};
  bool written = false;
  bool kept = false;                    // persistent between steps
  bool read_first = false;              // before anything writes it
  std::uint32_t writer = kNoOperation;  // the last of this step
};

/// Values of all ranks.
template <class Real>
class ValueStore {
 public:
  /// Persistent instances start with their initial values.
  ValueStore(const ExecutionState& state, const ExecutionOptions& options);

  void begin_step(int step);

  /// Layout of an operand on the rank of an operation.
  [[nodiscard]] const PartLayout& layout(const RankCursor& cursor, std::uint32_t operation,
                                         std::uint32_t instance);
  /// Throws ExecutionError for uninitialized values.
  [[nodiscard]] const std::vector<Real>& read(const RankCursor& cursor, std::uint32_t operation,
                                              std::uint32_t instance) const;
  /// `add`: accumulate. Throws ExecutionError for different lengths.
  void store(const RankCursor& cursor, std::uint32_t operation, std::uint32_t instance,
             std::vector<Real> values, bool add);

  /// Fills the rank's part of an instance with NaN; returns its elements.
  std::int64_t allocate(const RankCursor& cursor, std::uint32_t instance);
  void release(const RankCursor& cursor, std::uint32_t instance);

  [[nodiscard]] HeldValues<Real>& held(int rank, std::uint32_t instance) {
    return held_[static_cast<std::size_t>(rank)][instance];
  }
  [[nodiscard]] const HeldValues<Real>& held(int rank, std::uint32_t instance) const {
    return held_[static_cast<std::size_t>(rank)][instance];
  }
  [[nodiscard]] const PartLayout& layout_of(TensorId tensor, int rank) {
    return layouts_.of(tensor, rank);
  }

 private:
  void begin(const RankCursor& cursor);
  void note_first_uses(const RankCursor& cursor);
  void begin_instance(const RankCursor& cursor, std::uint32_t instance, int step);

  const ExecutionState& state_;
  const ExecutionOptions& options_;
  std::map<TensorId, ProgramInput> inputs_;
  LayoutTable layouts_;
  std::vector<std::vector<HeldValues<Real>>> held_{};  // per rank and instance
};

/// Whether a tensor is a weight, or a copy or shard of one.
[[nodiscard]] bool is_weight(const Program& program, const Tensor& tensor);
[[nodiscard]] const Tensor& original(const Program& program, const Tensor& tensor);

}  // namespace lockstep::execution
