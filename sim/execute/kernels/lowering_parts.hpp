#pragma once

#include <memory>
#include <span>
#include <vector>

#include "sim/execute/kernels/lower_operation.hpp"

/// Internal to this folder: one lowering function per family of operations.
namespace lockstep::lowering {

using Table = KernelLaunch::Table;
using TablePtr = std::shared_ptr<const Table>;
using F = KernelFunction;

/// Of operations on any number of tensors.
inline LoweredOperand read_number(std::size_t i) {
  return {LoweredOperand::Of::reads, i};
}
inline LoweredOperand written_number(std::size_t i) {
  return {LoweredOperand::Of::writes, i};
}

/// An operation with the layouts of its operands.
struct Lowering {
  const KernelSettings& call;
  std::vector<const PartLayout*> reads{};
  std::vector<const PartLayout*> writes{};
  std::vector<const Tensor*> read_tensors{};
  std::vector<const Tensor*> tensors{};  // of the written tensors
  std::vector<bool> adds{};              // accumulate into each result
  NumberType computes = NumberType::fp32;
  std::int64_t max_scratch_elements = kMaxScratchElements;  // maximum elements of a scratch buffer
  LoweredOperation out{};

  [[nodiscard]] const Operation& operation() const { return *call.operation; }
  /// Whether it has an operand.
  [[nodiscard]] bool reads_it(Operand operand) const {
    return row().reads.find(operand, reads.size()).has_value();
  }
  [[nodiscard]] bool writes_it(Operand operand) const {
    return row().writes.find(operand, writes.size()).has_value();
  }
  /// An operand that it has: its layout, its tensor, as operand of a kernel.
  [[nodiscard]] const PartLayout& in(Operand operand) const { return *reads[read_at(operand)]; }
  [[nodiscard]] const PartLayout& to(Operand operand) const { return *writes[written_at(operand)]; }
  [[nodiscard]] const Tensor& tensor_in(Operand operand) const {
    return *read_tensors[read_at(operand)];
  }
  [[nodiscard]] const Tensor& tensor_to(Operand operand) const {
    return *tensors[written_at(operand)];
  }
  [[nodiscard]] LoweredOperand read(Operand operand) const {
    return {LoweredOperand::Of::reads, read_at(operand)};
  }
  [[nodiscard]] LoweredOperand written(Operand operand) const {
    return {LoweredOperand::Of::writes, written_at(operand)};
  }
  [[nodiscard]] bool adds_to(std::size_t write) const { return adds.at(write); }

  /// Appends a kernel. It accumulates into those of its results that the operation accumulates
  /// into.
  KernelLaunch& add(F function, std::int64_t count, std::vector<LoweredOperand> from,
                    std::vector<LoweredOperand> results);
  /// Appends a kernel over the indices of the first result, with all operands in order.
  KernelLaunch& each(F function);
  /// A scratch buffer in the precision of the computation.
  LoweredOperand scratch(std::int64_t elements);
  LoweredOperand scratch(LoweredScratch of);
  /// Zeroes a result that kernels accumulate into, unless the operation accumulates anyway.
  void clear(LoweredOperand result);
  void clear(Operand result) { clear(written(result)); }

 private:
  [[nodiscard]] const OperationKindRow& row() const { return row_of(operation().kind); }
  /// Index of an operand. Throw InternalError where it has none.
  [[nodiscard]] std::size_t read_at(Operand operand) const;
  [[nodiscard]] std::size_t written_at(Operand operand) const;
};

/// Window of causal attention: see kernels::is_visible.
[[nodiscard]] inline std::int64_t window_of(const Operation& attention) {
  return attention.visible.chunked ? -attention.visible.window : attention.visible.window;
}

/// First key of the document of each of these queries: table of kernels::is_visible; null where a
/// sequence is one document.
[[nodiscard]] TablePtr document_begins(const KernelSettings& call, const PartLayout& queries);

[[nodiscard]] KernelLaunch launch_of(KernelFunction function, std::int64_t count);
/// Null if the table is 0, 1, 2 ...
[[nodiscard]] TablePtr table_of(Table places);
/// Maps global to local indices, -1 if not local; null if all are.
[[nodiscard]] TablePtr inverse_of(const PartAxis& axis);
[[nodiscard]] std::int64_t rows_of(const PartLayout& layout);
[[nodiscard]] std::int64_t width_of(const PartLayout& layout);
/// Per element of `to`, the index in `from`, -1 if absent.
[[nodiscard]] Table places_of_common(const PartLayout& from, const PartLayout& to);

/// Locations of matrix elements: element (i, k) of a batch is at rows[i] + columns[k] + start of
/// the batch.
struct GemmPlaces {
  Table rows;
  Table columns;
  Table batches;
};
/// An operand with the locations of its matrices.
struct GemmOperand {
  LoweredOperand of;
  GemmPlaces at;
};
/// y = factor a b for every batch.
KernelLaunch& gemm(Lowering& to, const GemmOperand& a, const GemmOperand& b, const GemmOperand& y,
                   double factor = 1);

/// A matrix with constant strides.
struct Matrix {
  LoweredOperand of;
  std::int64_t first = 0;
  std::int64_t by_row = 0;
  std::int64_t by_column = 1;
};
/// y (m x n) = a (m x k) b.
KernelLaunch& gemm(Lowering& to, std::int64_t m, std::int64_t n, std::int64_t k, const Matrix& a,
                   const Matrix& b, const Matrix& y);

/// Partial sums over `parts` parts of a matrix's rows, in a scratch buffer; `sums` per column.
struct PartSums {
  LoweredOperand of;
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t parts;
};
[[nodiscard]] PartSums part_sums(Lowering& to, F function, std::int64_t rows, std::int64_t columns,
                                 std::int64_t sums, std::vector<LoweredOperand> from);
/// Adds the partial sums into one or two results.
KernelLaunch& add_parts(Lowering& to, const PartSums& sums, std::vector<LoweredOperand> results);

/// How operations of a kind are lowered.
struct KindLowering {
  OperationKind kind;
  void (*lower)(Lowering& to);
};
// The kinds of each family.
[[nodiscard]] std::span<const KindLowering> gemm_kinds();
[[nodiscard]] std::span<const KindLowering> attention_kinds();
[[nodiscard]] std::span<const KindLowering> unfused_kinds();
[[nodiscard]] std::span<const KindLowering> norm_kinds();
[[nodiscard]] std::span<const KindLowering> elementwise_kinds();
[[nodiscard]] std::span<const KindLowering> loss_kinds();
[[nodiscard]] std::span<const KindLowering> experts_kinds();
[[nodiscard]] std::span<const KindLowering> image_kinds();
[[nodiscard]] std::span<const KindLowering> update_kinds();
[[nodiscard]] std::span<const KindLowering> matrices_kinds();

/// update, of an optimizer of matrices.
void update_by_stack(Lowering& to);

}  // namespace lockstep::lowering
