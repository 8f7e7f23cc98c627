#include "tests/sim/execute/reference/run_reference.hpp"

#include "tests/sim/execute/reference/kernel_list.hpp"

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
    case Kind::relative_bias:
      return kernels::relative_bias<Real>;
    case Kind::relative_bias_backward:
      return kernels::relative_bias_backward<Real>;
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
    case Kind::weighted_activation:
      return kernels::weighted_activation<Real>;
    case Kind::weighted_activation_backward:
      return kernels::weighted_activation_backward<Real>;
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
    case Kind::dispatch_weights:
      return kernels::dispatch_weights<Real>;
    case Kind::dispatch_weights_backward:
      return kernels::dispatch_weights_backward<Real>;
    case Kind::unpermute:
      return kernels::unpermute<Real>;
    case Kind::unpermute_backward:
      return kernels::unpermute_backward<Real>;
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
    case Kind::class_token:
      return kernels::class_token<Real>;
    case Kind::class_token_backward:
      return kernels::class_token_backward<Real>;
    case Kind::pool_tokens:
      return kernels::pool_tokens<Real>;
    case Kind::pool_tokens_backward:
      return kernels::pool_tokens_backward<Real>;
    case Kind::modulate:
      return kernels::modulate<Real>;
    case Kind::modulate_backward:
      return kernels::modulate_backward<Real>;
    case Kind::squared_error:
      return kernels::squared_error<Real>;
    case Kind::squared_error_backward:
      return kernels::squared_error_backward<Real>;
    case Kind::fill:
    case Kind::check_finite:
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

template <class Real>
void run_reference(KernelCall<Real>& call) {
  const Function<Real> function = function_of<Real>(call.operation->kind);
  if (function == nullptr) kernels::refuse(call, "no computation");
  check_kernel(call);
  if (call.writes.empty()) return;  // weights cast to 8 bits, in which nothing is executed
  function(call);
  for (KernelResult<Real>& result : call.writes) clear_padding(result);
}

template void run_reference(KernelCall<float>&);
template void run_reference(KernelCall<double>&);

}  // namespace lockstep
