#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "sim/execute/kernels/part_layout.hpp"
#include "sim/program/operation.hpp"

/// What operations compute, by the words of sim/program/operation.hpp: plain reference kernels in
/// float64 or float32 (every sum too) on a rank's own parts. A part knows which elements of the
/// whole tensor it holds, so that a mask sees tokens' own positions and a table its own rows, and
/// that operands which do not belong together are refused.
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
  std::vector<Real> values{};  // zeros when the kernel begins
};

struct OptimizerSettings {
  double learning_rate = 0.05;
  /// Adam divides by what may be nothing but rounding, such as the gradient of a bias of keys,
  /// which a softmax does not see: steps of that stay small.
  double adam_learning_rate = 0.001;
  double momentum = 0.9;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
};

/// Of the tokens that a rank sends to experts, in the order in which it holds them, an expert takes
/// no more than its capacity and drops the others: they add nothing to its input, to its output nor
/// to gradients. Where one device holds the tokens of many ranks, each rank's are a group.
struct DroppingRule {
  std::int64_t capacity = 0;  // tokens of one group that one expert takes
  /// By the token's place in the whole batch and sequence.
  std::function<int(std::int64_t batch, std::int64_t sequence)> group_of{};
};

/// Parameters of a kernel in addition to its operands.
struct KernelSettings {
  const Operation* operation = nullptr;
  /// matmul: whether this rank's summand has the bias; of the ranks that a result is partial over
  /// only the first adds it.
  bool adds_bias = true;
  /// dropout: which elements are dropped is a function of this and their place in the whole tensor.
  std::uint64_t draw = 0;
  /// Likewise: where the batch of a tensor begins in a larger one, such as that of all replicas.
  std::int64_t first_sample = 0;
  OptimizerSettings optimizer{};
  int step = 1;  // of training, from 1
  /// dispatch, combine and their gradients; none: an expert takes as many as it has slots for.
  const DroppingRule* dropping = nullptr;
};

template <class Real>
struct KernelCall : KernelSettings {
  std::vector<KernelOperand<Real>> reads{};
  std::vector<KernelResult<Real>> writes{};

  [[nodiscard]] const KernelOperand<Real>& read(std::size_t i) const { return reads.at(i); }
  [[nodiscard]] KernelResult<Real>& write(std::size_t i) { return writes.at(i); }
};

/// What is added to by attention in a ring is combined with what `writes` of an operation hold:
/// true for these, whose kernel reads what it adds to and whose results replace it.
[[nodiscard]] bool combines_itself(const Operation& operation);

/// Whether every rank computes with parts that belong together; values are not looked at. Errors:
/// ExecutionError for operands that do not fit.
template <class Real>  // float, double
void check_kernel(const KernelCall<Real>& call);

/// Computes writes. Errors: ExecutionError for operands that do not fit, and for kinds that are no
/// computation.
template <class Real>  // float, double
void run_kernel(KernelCall<Real>& call);

}  // namespace lockstep
