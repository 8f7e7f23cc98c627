#pragma once

#include <vector>

#include "sim/program/program.hpp"

/// Lengths and bytes of a rank's tensors, as kernels see them.
namespace lockstep {

[[nodiscard]] inline const Tensor& tensor_of(const Program& program, const Ref& ref) {
  return program.tensors[ref.tensor];
}

[[nodiscard]] inline bool has_dim(const Tensor& tensor, Dim dim) {
  return find_extent(tensor, dim) != nullptr;
}

/// The length of the rank's part of one dimension; 1 where the tensor has none such.
[[nodiscard]] double local_length(const Program& program, const Tensor& tensor, Dim dim);

/// Sums the bytes of tensors, each once.
class KernelTraffic {
 public:
  explicit KernelTraffic(const Program& program) : program_{program} {}

  /// What an operation reads and writes. What it adds to is read too, unless an operation of the
  /// same kernel has just made it.
  void add(const Operation& operation);
  [[nodiscard]] double bytes() const { return bytes_; }

 private:
  void add(const Ref& ref, std::vector<Ref>& seen);

  const Program& program_;
  std::vector<Ref> reads_{};
  std::vector<Ref> writes_{};
  double bytes_ = 0;
};

/// Bytes of the gradients of weights that an operation adds to.
[[nodiscard]] double gradient_bytes_of(const Program& program, const Operation& operation);

/// Bytes that an operation moves by itself. An embedding touches the rows of its tokens, not the
/// whole table.
[[nodiscard]] double bytes_moved(const Program& program, const Operation& operation);

}  // namespace lockstep
