#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "sim/execute/kernels/part_layout.hpp"
#include "sim/program/operation.hpp"

/// The operations of sim/program/operation_kinds.hpp in float64 or float32 (including sums), on a
/// rank's shards and on the host. Layouts record global indices, so that masks use global
/// positions, tables global rows, and inconsistent operands are detected.
namespace lockstep {

template <class Real>
struct KernelOperand {
  const Tensor* tensor = nullptr;
  const PartLayout* layout = nullptr;
  const std::vector<Real>* values = nullptr;

  [[nodiscard]] const Real* data() const { return values->data(); }
  [[nodiscard]] std::size_t size() const { return values->size(); }
};

template <class Real>
struct KernelResult {
  const Tensor* tensor = nullptr;
  const PartLayout* layout = nullptr;
  std::vector<Real> values{};  // initially zeros
};

struct OptimizerSettings {
  double learning_rate = 0.05;
  /// Small, since Adam may divide rounding noise, such as the gradient of a key bias, on which a
  /// softmax does not depend.
  double adam_learning_rate = 0.001;
  double momentum = 0.9;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double outer_learning_rate = 0.7;  // Douillard et al., DiLoCo, arXiv 2311.08105, table 5
  double outer_momentum = 0.9;
  double muon_momentum = 0.95;  // Jordan et al., Muon (2024); its rate is Adam's
};

/// Of the tokens that a rank sends to experts, in its order, an expert accepts at most its capacity
/// and drops the rest: they contribute neither to its input, its output nor gradients. If one
/// device holds tokens of several ranks, each rank's tokens are a group.
struct DroppingRule {
  std::int64_t capacity = 0;  // tokens per group and expert
  /// Group by position of the token in the batch and sequence.
  std::function<int(std::int64_t batch, std::int64_t sequence)> group_of{};
};

/// Parameters of a kernel other than its operands.
struct KernelSettings {
  const Operation* operation = nullptr;
  /// matmul: whether this rank adds the bias; for partial sums only the first rank does.
  bool adds_bias = true;
  /// dropout: random seed; an element is dropped as a function of it and its global index.
  std::uint64_t draw = 0;
  /// dropout: offset of the tensor's batch in a larger batch, such as that of all replicas.
  std::int64_t first_sample = 0;
  OptimizerSettings optimizer{};
  int step = 1;  // of training, 1-based
  /// dispatch, combine and their gradients; none: an expert's number of slots.
  const DroppingRule* dropping = nullptr;
};

template <class Real>
struct KernelCall : KernelSettings {
  std::vector<KernelOperand<Real>> reads{};
  std::vector<KernelResult<Real>> writes{};

  [[nodiscard]] const KernelOperand<Real>& read(std::size_t i) const { return reads.at(i); }
  [[nodiscard]] KernelResult<Real>& write(std::size_t i) { return writes.at(i); }
};

/// Whether the kernel itself combines its results with the current contents (ring attention), which
/// it also reads.
[[nodiscard]] bool combines_itself(const Operation& operation);

/// Checks operands without computing. Throws ExecutionError if they are inconsistent.
template <class Real>  // float, double
void check_kernel(const KernelCall<Real>& call);

/// Computes the writes. Throws ExecutionError for inconsistent operands and for kinds that are no
/// computation.
template <class Real>  // float, double
void run_kernel(KernelCall<Real>& call);

}  // namespace lockstep
