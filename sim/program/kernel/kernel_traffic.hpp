#pragma once

#include <vector>

#include "sim/program/program.hpp"

/// Lengths and bytes of a rank's tensors, as seen by kernels.
namespace lockstep {

[[nodiscard]] inline const Tensor& tensor_of(const Program& program, const Ref& ref) {
  return program.tensors[ref.tensor];
}

[[nodiscard]] inline bool has_dim(const Tensor& tensor, Dim dim) {
  return find_extent(tensor, dim) != nullptr;
}

/// Local length of one dimension; 1 if the tensor does not have it.
[[nodiscard]] double local_length(const Program& program, const Tensor& tensor, Dim dim);

/// Sums the bytes of tensors, counting each once.
class KernelTraffic {
 public:
  explicit KernelTraffic(const Program& program) : program_{program} {}

  /// Adds an operation's reads and writes. Accumulated results are also read, unless an operation
  /// of the same kernel has just written them.
  void add(const Operation& operation);
  [[nodiscard]] double bytes() const { return bytes_; }

 private:
  void add(const Ref& ref, std::vector<Ref>& seen);

  const Program& program_;
  std::vector<Ref> reads_{};
  std::vector<Ref> writes_{};
  double bytes_ = 0;
};

/// Whether an elementwise kernel reads an operation's first result next, perhaps after an exchange
/// between ranks: an addition, or behind a GEMM also an activation function or dropout. The
/// operation is one of the routine's.
[[nodiscard]] bool is_read_elementwise(const Routine& routine, const Operation& operation);

/// Bytes of the weight gradients that an operation accumulates into.
[[nodiscard]] double gradient_bytes_of(const Program& program, const Operation& operation);

/// Bytes moved by an operation alone. An embedding accesses its tokens' rows, not the whole table.
[[nodiscard]] double bytes_moved(const Program& program, const Operation& operation);

}  // namespace lockstep
