#include "sim/execute/kernels/kernels.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/execute/kernels/execution_error.hpp"
#include "sim/execute/kernels/kernel_list.hpp"

namespace lockstep {

namespace {

using Kind = OperationKind;
template <class Real>
using Function = void (*)(KernelCall<Real>&);

template <class Real>
[[nodiscard]] Function<Real> function_of(Kind kind) {
  switch (kind) {
    case Kind::matmul:
      return kernels::matmul<Real>;
    case Kind::bias_gradient:
      return kernels::bias_gradient<Real>;
    case Kind::attention:
      return kernels::attention<Real>;
    case Kind::attention_backward:
      return kernels::attention_backward<Real>;
    case Kind::attention_scores:
      return kernels::attention_scores<Real>;
    case Kind::attention_scores_backward:
      return kernels::attention_scores_backward<Real>;
    case Kind::softmax:
      return kernels::softmax<Real>;
    case Kind::softmax_backward:
      return kernels::softmax_backward<Real>;
    case Kind::attention_context:
      return kernels::attention_context<Real>;
    case Kind::attention_context_backward:
      return kernels::attention_context_backward<Real>;
    case Kind::normalization:
      return kernels::normalization<Real>;
    case Kind::normalization_backward:
      return kernels::normalization_backward<Real>;
    case Kind::activation:
      return kernels::activation<Real>;
    case Kind::activation_backward:
      return kernels::activation_backward<Real>;
    case Kind::rotary:
      return kernels::rotary<Real>;
    case Kind::rotary_backward:
      return kernels::rotary_backward<Real>;
    case Kind::dropout:
      return kernels::dropout<Real>;
    case Kind::dropout_backward:
      return kernels::dropout_backward<Real>;
    case Kind::add:
      return kernels::add<Real>;
    case Kind::embedding:
      return kernels::embedding<Real>;
    case Kind::embedding_backward:
      return kernels::embedding_backward<Real>;
    case Kind::loss_maximum:
      return kernels::loss_maximum<Real>;
    case Kind::loss_sum:
      return kernels::loss_sum<Real>;
    case Kind::loss:
      return kernels::loss<Real>;
    case Kind::loss_backward:
      return kernels::loss_backward<Real>;
    case Kind::router:
      return kernels::router<Real>;
    case Kind::router_backward:
      return kernels::router_backward<Real>;
    case Kind::dispatch:
      return kernels::dispatch<Real>;
    case Kind::dispatch_backward:
      return kernels::dispatch_backward<Real>;
    case Kind::combine:
      return kernels::combine<Real>;
    case Kind::combine_backward:
      return kernels::combine_backward<Real>;
    case Kind::convolution:
      return kernels::convolution<Real>;
    case Kind::convolution_input_grad:
      return kernels::convolution_input_grad<Real>;
    case Kind::convolution_weight_grad:
      return kernels::convolution_weight_grad<Real>;
    case Kind::batch_norm:
      return kernels::batch_norm<Real>;
    case Kind::batch_norm_backward:
      return kernels::batch_norm_backward<Real>;
    case Kind::pool:
      return kernels::pool<Real>;
    case Kind::pool_backward:
      return kernels::pool_backward<Real>;
    case Kind::temporal_shift:
      return kernels::temporal_shift<Real>;
    case Kind::temporal_shift_backward:
      return kernels::temporal_shift_backward<Real>;
    case Kind::fill:
      return [](KernelCall<Real>&) {};
    case Kind::scale:
      return kernels::scale<Real>;
    case Kind::cast:
    case Kind::slice:
    case Kind::host_copy:
      return kernels::copy<Real>;
    case Kind::update:
      return kernels::update<Real>;
    default:
      return nullptr;
  }
}

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
[[nodiscard]] bool agrees(Kind kind, Dim dim) {
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

/// Padding stays zero, so that it never counts in a GEMM.
template <class Real>
void clear_padding(KernelResult<Real>& result) {
  if (result.layout->filled() == result.layout->elements()) return;
  const std::vector<std::int64_t> indices = result.layout->global_indices();
  for (std::size_t i = 0; i < indices.size(); ++i) {
    if (indices[i] < 0) result.values[i] = 0;
  }
}

}  // namespace

bool combines_itself(const Operation& operation) {
  return operation.kind == Kind::attention;
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
  const Function<Real> function = function_of<Real>(call.operation->kind);
  if (function == nullptr) kernels::refuse(call, "no computation");
  check_kernel(call);
  if (call.writes.empty()) return;  // weights cast to 8 bits, in which nothing is executed
  function(call);
  for (KernelResult<Real>& result : call.writes) clear_padding(result);
}

template void check_kernel(const KernelCall<float>&);
template void check_kernel(const KernelCall<double>&);
template void run_kernel(KernelCall<float>&);
template void run_kernel(KernelCall<double>&);

namespace kernels {

void refuse(const KernelSettings& call, const std::string& why) {
  throw ExecutionError{
      fmt::format("{} ({}): {}", call.operation->name, to_string(call.operation->kind), why)};
}

void check_aligned(const KernelSettings& call, const Tensor& a, const PartLayout& in_a,
                   const Tensor& b, const PartLayout& in_b) {
  for (const PartAxis& axis : in_a.axes) {
    if (!agrees(call.operation->kind, axis.dim)) continue;
    if (in_a.is_flat || in_b.is_flat) refuse(call, "computes with a part that is cut flat");
    const PartAxis* other = in_b.find(axis.dim);
    if (other == nullptr || axis.at == other->at) continue;
    if (axis.dim == Dim::slot && axis.length() == other->length()) continue;
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
