#pragma once

#include "sim/execute/kernels/kernel_checks.hpp"

/// One function per kind of operation; operands in the order of sim/program/operation_kinds.hpp.
namespace lockstep::kernels {

// gemm.cpp: a b (+ bias) over any dimensions; contracts those that the result does not have.
template <class Real>
void matmul(KernelCall<Real>& call);
template <class Real>
void bias_gradient(KernelCall<Real>& call);

// attention.cpp: q [b, s, a, d], k [b, t, g, d], v [b, t, g, e], o [b, s, a, e], statistics
// [b, a, s]: the logarithm of the sum of exp(score).
template <class Real>
void attention(KernelCall<Real>& call);
template <class Real>
void attention_backward(KernelCall<Real>& call);

// attention_unfused.cpp: scores and probabilities [b, a, s, t].
template <class Real>
void attention_scores(KernelCall<Real>& call);
template <class Real>
void attention_scores_backward(KernelCall<Real>& call);
template <class Real>
void softmax(KernelCall<Real>& call);
template <class Real>
void relative_bias(KernelCall<Real>& call);
template <class Real>
void relative_bias_backward(KernelCall<Real>& call);
template <class Real>
void softmax_backward(KernelCall<Real>& call);
template <class Real>
void attention_context(KernelCall<Real>& call);
template <class Real>
void attention_context_backward(KernelCall<Real>& call);

// norm.cpp
template <class Real>
void normalization(KernelCall<Real>& call);
template <class Real>
void normalization_backward(KernelCall<Real>& call);
template <class Real>
void batch_norm(KernelCall<Real>& call);
template <class Real>
void batch_norm_backward(KernelCall<Real>& call);

// elementwise.cpp
template <class Real>
void activation(KernelCall<Real>& call);
template <class Real>
void activation_backward(KernelCall<Real>& call);
template <class Real>
void weighted_activation(KernelCall<Real>& call);
template <class Real>
void weighted_activation_backward(KernelCall<Real>& call);
template <class Real>
void rotary(KernelCall<Real>& call);
template <class Real>
void rotary_backward(KernelCall<Real>& call);
template <class Real>
void dropout(KernelCall<Real>& call);
template <class Real>
void dropout_backward(KernelCall<Real>& call);
template <class Real>
void add(KernelCall<Real>& call);
template <class Real>
void modulate(KernelCall<Real>& call);
template <class Real>
void modulate_backward(KernelCall<Real>& call);
template <class Real>
void scale(KernelCall<Real>& call);
template <class Real>
void copy(KernelCall<Real>& call);

// loss.cpp
template <class Real>
void embedding(KernelCall<Real>& call);
template <class Real>
void embedding_backward(KernelCall<Real>& call);
template <class Real>
void loss_maximum(KernelCall<Real>& call);
template <class Real>
void loss_sum(KernelCall<Real>& call);
template <class Real>
void loss(KernelCall<Real>& call);
template <class Real>
void loss_backward(KernelCall<Real>& call);
template <class Real>
void squared_error(KernelCall<Real>& call);
template <class Real>
void squared_error_backward(KernelCall<Real>& call);

// experts.cpp
template <class Real>
void router(KernelCall<Real>& call);
template <class Real>
void router_backward(KernelCall<Real>& call);
template <class Real>
void dispatch(KernelCall<Real>& call);
template <class Real>
void dispatch_backward(KernelCall<Real>& call);
template <class Real>
void combine(KernelCall<Real>& call);
template <class Real>
void combine_backward(KernelCall<Real>& call);
template <class Real>
void dispatch_weights(KernelCall<Real>& call);
template <class Real>
void dispatch_weights_backward(KernelCall<Real>& call);
template <class Real>
void unpermute(KernelCall<Real>& call);
template <class Real>
void unpermute_backward(KernelCall<Real>& call);

// image.cpp
template <class Real>
void convolution(KernelCall<Real>& call);
template <class Real>
void convolution_input_grad(KernelCall<Real>& call);
template <class Real>
void convolution_weight_grad(KernelCall<Real>& call);
template <class Real>
void pool(KernelCall<Real>& call);
template <class Real>
void pool_backward(KernelCall<Real>& call);
template <class Real>
void temporal_shift(KernelCall<Real>& call);
template <class Real>
void temporal_shift_backward(KernelCall<Real>& call);
template <class Real>
void class_token(KernelCall<Real>& call);
template <class Real>
void class_token_backward(KernelCall<Real>& call);
template <class Real>
void pool_tokens(KernelCall<Real>& call);
template <class Real>
void pool_tokens_backward(KernelCall<Real>& call);

// update.cpp
template <class Real>
void update(KernelCall<Real>& call);

}  // namespace lockstep::kernels
