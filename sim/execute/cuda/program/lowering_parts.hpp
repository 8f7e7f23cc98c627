#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "sim/execute/cuda/program/lower_operation.hpp"

/// For the sources of this folder that lower operations, one per family.
namespace lockstep::lowering {

using Table = KernelLaunch::Table;
using TablePtr = std::shared_ptr<const Table>;
using Kernels = std::vector<LoweredKernel>;

inline LoweredOperand read(std::size_t i) {
  return {false, i};
}
inline LoweredOperand written(std::size_t i) {
  return {true, i};
}

/// Null where the table is 0, 1, 2 ...
[[nodiscard]] TablePtr table_of(Table places);
/// Local index by global one, -1 where it is not here; null where all are.
[[nodiscard]] TablePtr inverse_of(const PartAxis& axis);
[[nodiscard]] KernelLaunch launch_of(KernelFunction function, std::int64_t count);
[[nodiscard]] std::int64_t rows_of(const PartLayout& layout);
/// Indices of an operand of what is copied, -1 where `from` has it not: per element of `to`.
[[nodiscard]] Table places_of_common(const PartLayout& from, const PartLayout& to);

/// Where the elements of a matrix stand: element (i, k) of a batch at rows[i] + columns[k] + where
/// the batch begins.
struct ProductPlaces {
  Table rows;
  Table columns;
  Table batches;
};
/// y = a b for every batch, of the operation's first two operands, unless told otherwise.
[[nodiscard]] LoweredKernel product_of(const ProductPlaces& a, const ProductPlaces& b,
                                       const ProductPlaces& y);

// One function per family; none of them sets in_doubles, name or what padding holds.
[[nodiscard]] Kernels matmul(const KernelSettings& call, const PartLayout& a, const PartLayout& b,
                             const PartLayout& y, const PartLayout* bias, bool adds);
[[nodiscard]] Kernels bias_gradient(const PartLayout& g, const PartLayout& y, bool adds);
struct AttentionLayouts {
  const PartLayout& q;
  const PartLayout& k;
  const PartLayout& v;
};
[[nodiscard]] Kernels attention(const KernelSettings& call, const AttentionLayouts& of);
[[nodiscard]] Kernels attention_backward(const KernelSettings& call, const AttentionLayouts& of,
                                         const std::vector<bool>& adds);
// Scores that are stored; empty where heads do not share out what is written.
[[nodiscard]] Kernels attention_scores(const KernelSettings& call, const PartLayout& q,
                                       const PartLayout& k, const PartLayout& scores);
[[nodiscard]] Kernels attention_scores_backward(const KernelSettings& call, const PartLayout& q,
                                                const PartLayout& k, const PartLayout& scores);
[[nodiscard]] Kernels attention_context(const KernelSettings& call, const PartLayout& p,
                                        const PartLayout& v, const PartLayout& o);
[[nodiscard]] Kernels attention_context_backward(const KernelSettings& call, const PartLayout& p,
                                                 const PartLayout& v, const PartLayout& o);
[[nodiscard]] Kernels softmax(const KernelSettings& call, const PartLayout& scores);
[[nodiscard]] Kernels softmax_backward(const PartLayout& scores);
[[nodiscard]] Kernels rotary(const PartLayout& x, const PartLayout* shared, const PartLayout& y);
[[nodiscard]] Kernels rotary_backward(const PartLayout& g, const PartLayout& g_x,
                                      const PartLayout* g_shared, bool adds);

}  // namespace lockstep::lowering
