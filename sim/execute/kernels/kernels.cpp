#include "sim/execute/kernels/kernels.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/execute/device_kernels/run_on_host.hpp"
#include "sim/execute/kernels/execution_error.hpp"
#include "sim/execute/kernels/kernel_checks.hpp"
#include "sim/execute/kernels/lower_operation.hpp"

namespace lockstep {

namespace {

struct Part {
  const Tensor* tensor = nullptr;
  const PartLayout* layout = nullptr;
};
template <class Real>
[[nodiscard]] std::vector<Part> parts_of(const KernelCall<Real>& call) {
  std::vector<Part> out;
  for (const KernelOperand<Real>& read : call.reads) out.push_back({read.tensor, read.layout});
  for (const KernelResult<Real>& write : call.writes) out.push_back({write.tensor, write.layout});
  return out;
}

/// Whether all operands hold the same part along a dimension.
[[nodiscard]] bool agrees(OperationKind kind, Dim dim) {
  switch (row_of(kind).common) {
    case CommonDims::all:
      return true;
    case CommonDims::all_but_sequence:
      return dim != Dim::sequence;
    case CommonDims::all_but_head_size:
      return dim != Dim::head_size;
    case CommonDims::batch:
      return dim == Dim::batch;
    case CommonDims::none:
      break;
  }
  return false;
}

template <class Real>
constexpr NumberType kTypeOf = sizeof(Real) == sizeof(double) ? NumberType::fp64 : NumberType::fp32;

/// A lowered operation's operands in memory.
template <class Real>
class Operands {
 public:
  Operands(KernelCall<Real>& call, const LoweredOperation& lowered) : call_{call} {
    for (const LoweredScratch& each : lowered.scratch) {
      const NumberType type = each.as_read ? kTypeOf<Real> : each.type;
      types_.push_back(type);
      scratch_.emplace_back(static_cast<std::size_t>(each.elements * bytes_of(type)));
    }
  }

  [[nodiscard]] std::vector<kernels::Values> of(const std::vector<LoweredOperand>& operands) {
    std::vector<kernels::Values> out;
    out.reserve(operands.size());
    for (const LoweredOperand& each : operands) out.push_back(of(each));
    return out;
  }

 private:
  [[nodiscard]] kernels::Values of(const LoweredOperand& operand) {
    switch (operand.of) {
      case LoweredOperand::Of::reads:  // which no kernel writes
        return {const_cast<Real*>(call_.reads[operand.index].data()), kTypeOf<Real>};
      case LoweredOperand::Of::writes:
        return {call_.writes[operand.index].values.data(), kTypeOf<Real>};
      case LoweredOperand::Of::scratch:
        break;
    }
    return {scratch_[operand.index].data(), types_[operand.index]};
  }

  KernelCall<Real>& call_;
  std::vector<NumberType> types_{};
  std::vector<std::vector<std::byte>> scratch_{};
};

}  // namespace

bool combines_itself(const Operation& operation) {
  return operation.kind == OperationKind::attention;
}

template <class Real>
void check_kernel(const KernelCall<Real>& call) {
  const std::vector<Part> parts = parts_of(call);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    for (std::size_t k = i + 1; k < parts.size(); ++k) {
      kernels::check_aligned(call, *parts[i].tensor, *parts[i].layout, *parts[k].tensor,
                             *parts[k].layout);
    }
  }
}

template <class Real>
void run_kernel(KernelCall<Real>& call) {
  run_lowered(call, lower_operation(call, std::vector<bool>(call.writes.size(), false)));
}

template <class Real>
void run_lowered(KernelCall<Real>& call, const LoweredOperation& lowered) {
  kernels::check_values(call);
  Operands<Real> operands{call, lowered};
  for (const LoweredKernel& each : lowered.kernels) {
    kernels::run_on_host(each.launch, operands.of(each.reads), operands.of(each.writes));
  }
}

template void check_kernel(const KernelCall<float>&);
template void check_kernel(const KernelCall<double>&);
template void run_kernel(KernelCall<float>&);
template void run_kernel(KernelCall<double>&);
template void run_lowered(KernelCall<float>&, const LoweredOperation&);
template void run_lowered(KernelCall<double>&, const LoweredOperation&);

namespace kernels {

void refuse(const KernelSettings& call, const std::string& why) {
  throw ExecutionError{
      fmt::format("{} ({}): {}", call.operation->name, to_string(call.operation->kind), why)};
}

namespace {

/// Sums go element by element, also over flat shards.
[[nodiscard]] bool adds_equal_shards(const KernelSettings& call, const PartLayout& a,
                                     const PartLayout& b) {
  return call.operation->kind == OperationKind::add && a.is_flat && b.is_flat && a.axes == b.axes &&
         a.first_flat == b.first_flat && a.flat == b.flat;
}

/// The gradient of sinks, of all heads, of which attention has computed some.
[[nodiscard]] bool is_gradient_of_more_heads(const KernelSettings& call, const Tensor& gradient,
                                             const PartLayout& whole, const PartLayout& part) {
  if (call.operation->kind != OperationKind::attention_backward) return false;
  if (gradient.category != Category::gradient || whole.axes.size() != 1) return false;
  const PartAxis* heads = part.find(Dim::heads);
  return heads != nullptr && whole.axes[0].dim == Dim::heads &&
         std::includes(whole.axes[0].at.begin(), whole.axes[0].at.end(), heads->at.begin(),
                       heads->at.end());
}

}  // namespace

void check_aligned(const KernelSettings& call, const Tensor& a, const PartLayout& in_a,
                   const Tensor& b, const PartLayout& in_b) {
  if (adds_equal_shards(call, in_a, in_b)) return;
  for (const PartAxis& axis : in_a.axes) {
    if (!agrees(call.operation->kind, axis.dim)) continue;
    if (in_a.is_flat || in_b.is_flat) refuse(call, "computes with a part that is cut flat");
    const PartAxis* other = in_b.find(axis.dim);
    if (other == nullptr || axis.at == other->at) continue;
    if (axis.dim == Dim::slot && axis.length() == other->length()) continue;
    if (is_gradient_of_more_heads(call, a, in_a, in_b) ||
        is_gradient_of_more_heads(call, b, in_b, in_a))
      continue;
    refuse(call,
           fmt::format("{} and {} hold different parts of {} ({} and {} of {})", a.name, b.name,
                       to_string(axis.dim), axis.length(), other->length(), axis.size));
  }
}

void check_whole(const KernelSettings& call, const Tensor& tensor, const PartAxis& axis) {
  if (axis.length() == axis.size) return;
  refuse(call, fmt::format("{} holds {} of {} of {}, and has to hold all", tensor.name,
                           axis.length(), axis.size, to_string(axis.dim)));
}

const PartAxis& axis_of(const KernelSettings& call, const Tensor& tensor, const PartLayout& layout,
                        Dim dim) {
  const PartAxis* axis = layout.find(dim);
  if (axis == nullptr) refuse(call, fmt::format("{} has no {}", tensor.name, to_string(dim)));
  return *axis;
}

}  // namespace kernels

}  // namespace lockstep
