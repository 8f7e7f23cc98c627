#include "sim/execute/host/kernels/kernels.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/execute/host/kernels/execution_error.hpp"
#include "sim/execute/host/kernels/kernel_list.hpp"

namespace lockstep {

namespace {

using Kind = OperationKind;
using Function = void (*)(KernelCall&);

[[nodiscard]] Function function_of(Kind kind) {
  switch (kind) {
    case Kind::matmul:
      return kernels::matmul;
    case Kind::bias_gradient:
      return kernels::bias_gradient;
    case Kind::attention:
      return kernels::attention;
    case Kind::attention_backward:
      return kernels::attention_backward;
    case Kind::attention_scores:
      return kernels::attention_scores;
    case Kind::attention_scores_backward:
      return kernels::attention_scores_backward;
    case Kind::softmax:
      return kernels::softmax;
    case Kind::softmax_backward:
      return kernels::softmax_backward;
    case Kind::attention_context:
      return kernels::attention_context;
    case Kind::attention_context_backward:
      return kernels::attention_context_backward;
    case Kind::normalisation:
      return kernels::normalisation;
    case Kind::normalisation_backward:
      return kernels::normalisation_backward;
    case Kind::activation:
      return kernels::activation;
    case Kind::activation_backward:
      return kernels::activation_backward;
    case Kind::rotary:
      return kernels::rotary;
    case Kind::rotary_backward:
      return kernels::rotary_backward;
    case Kind::dropout:
      return kernels::dropout;
    case Kind::dropout_backward:
      return kernels::dropout_backward;
    case Kind::add:
      return kernels::add;
    case Kind::embedding:
      return kernels::embedding;
    case Kind::embedding_backward:
      return kernels::embedding_backward;
    case Kind::loss_maximum:
      return kernels::loss_maximum;
    case Kind::loss_sum:
      return kernels::loss_sum;
    case Kind::loss:
      return kernels::loss;
    case Kind::loss_backward:
      return kernels::loss_backward;
    case Kind::router:
      return kernels::router;
    case Kind::router_backward:
      return kernels::router_backward;
    case Kind::dispatch:
      return kernels::dispatch;
    case Kind::dispatch_backward:
      return kernels::dispatch_backward;
    case Kind::combine:
      return kernels::combine;
    case Kind::combine_backward:
      return kernels::combine_backward;
    case Kind::convolution:
      return kernels::convolution;
    case Kind::convolution_input_grad:
      return kernels::convolution_input_grad;
    case Kind::convolution_weight_grad:
      return kernels::convolution_weight_grad;
    case Kind::batch_norm:
      return kernels::batch_norm;
    case Kind::batch_norm_backward:
      return kernels::batch_norm_backward;
    case Kind::pool:
      return kernels::pool;
    case Kind::pool_backward:
      return kernels::pool_backward;
    case Kind::temporal_shift:
      return kernels::temporal_shift;
    case Kind::temporal_shift_backward:
      return kernels::temporal_shift_backward;
    case Kind::fill:
      return [](KernelCall&) {};
    case Kind::scale:
      return kernels::scale;
    case Kind::cast:
    case Kind::slice:
    case Kind::host_copy:
      return kernels::copy;
    case Kind::update:
      return kernels::update;
    default:
      return nullptr;
  }
}

struct Part {
  const Tensor* tensor = nullptr;
  const PartLayout* layout = nullptr;
};
[[nodiscard]] std::vector<Part> parts_of(const KernelCall& call) {
  std::vector<Part> out;
  for (const KernelOperand& read : call.reads) out.push_back({read.tensor, read.layout});
  for (const KernelResult& write : call.writes) out.push_back({write.tensor, write.layout});
  return out;
}

/// Which dimensions mean the same in all operands of an operation.
[[nodiscard]] bool agrees(Kind kind, Dim dim) {
  switch (kind) {
    case Kind::attention:
    case Kind::attention_backward:  // a ring's keys are other tokens; see attention.cpp
    case Kind::attention_scores:
    case Kind::attention_scores_backward:
    case Kind::attention_context:
    case Kind::attention_context_backward:
      return dim != Dim::sequence;
    case Kind::rotary:
    case Kind::rotary_backward:  // a shared key is put behind every head's own
      return dim != Dim::head_size;
    case Kind::convolution:
    case Kind::convolution_input_grad:
    case Kind::convolution_weight_grad:
    case Kind::pool:
    case Kind::pool_backward:
      return dim == Dim::batch;
    case Kind::fill:
    case Kind::scale:
    case Kind::cast:
    case Kind::slice:
    case Kind::host_copy:
    case Kind::update:
      return false;
    default:
      return true;
  }
}

/// Every rank computes with parts that belong together.
void check_operands(const KernelCall& call) {
  const std::vector<Part> parts = parts_of(call);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    for (std::size_t k = i + 1; k < parts.size(); ++k) {
      kernels::check_aligned(call, *parts[i].tensor, *parts[i].layout, *parts[k].tensor,
                             *parts[k].layout);
    }
  }
}

/// Padding stays zero, so that it never counts in a product.
void clear_padding(KernelResult& result) {
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

void run_kernel(KernelCall& call) {
  const Function function = function_of(call.operation->kind);
  if (function == nullptr) kernels::refuse(call, "no computation");
  check_operands(call);
  function(call);
  for (KernelResult& result : call.writes) clear_padding(result);
}

namespace kernels {

void refuse(const KernelCall& call, const std::string& why) {
  throw ExecutionError{
      fmt::format("{} ({}): {}", call.operation->name, to_string(call.operation->kind), why)};
}

void check_aligned(const KernelCall& call, const Tensor& a, const PartLayout& in_a, const Tensor& b,
                   const PartLayout& in_b) {
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

void check_whole(const KernelCall& call, const Tensor& tensor, const PartAxis& axis) {
  if (axis.length() == axis.size) return;
  refuse(call, fmt::format("{} holds {} of {} of {}, and has to hold all", tensor.name,
                           axis.length(), axis.size, to_string(axis.dim)));
}

const PartAxis& axis_of(const KernelCall& call, const Tensor& tensor, const PartLayout& layout,
                        Dim dim) {
  const PartAxis* axis = layout.find(dim);
  if (axis == nullptr) refuse(call, fmt::format("{} has no {}", tensor.name, to_string(dim)));
  return *axis;
}

}  // namespace kernels

}  // namespace lockstep
