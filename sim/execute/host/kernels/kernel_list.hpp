#pragma once

#include "sim/execute/host/kernels/kernels.hpp"

/// One function per kind of operation; shapes as in sim/program/operation.hpp.
namespace lockstep::kernels {

// product.cpp: a b (+ bias) over any dimensions; sums over those that the result has not.
void matmul(KernelCall& call);
void bias_gradient(KernelCall& call);

// attention.cpp: q [b, s, a, d], k [b, t, g, d], v [b, t, g, e], o [b, s, a, e], statistics
// [b, a, s]: the logarithm of the sum of exp(score).
void attention(KernelCall& call);
void attention_backward(KernelCall& call);

// attention_unfused.cpp: scores and probabilities [b, a, s, t].
void attention_scores(KernelCall& call);
void attention_scores_backward(KernelCall& call);
void softmax(KernelCall& call);
void softmax_backward(KernelCall& call);
void attention_context(KernelCall& call);
void attention_context_backward(KernelCall& call);

// norm.cpp
void normalisation(KernelCall& call);
void normalisation_backward(KernelCall& call);
void batch_norm(KernelCall& call);
void batch_norm_backward(KernelCall& call);

// elementwise.cpp
void activation(KernelCall& call);
void activation_backward(KernelCall& call);
void rotary(KernelCall& call);
void rotary_backward(KernelCall& call);
void dropout(KernelCall& call);
void dropout_backward(KernelCall& call);
void add(KernelCall& call);
void scale(KernelCall& call);
void copy(KernelCall& call);

// loss.cpp
void embedding(KernelCall& call);
void embedding_backward(KernelCall& call);
void loss_maximum(KernelCall& call);
void loss_sum(KernelCall& call);
void loss(KernelCall& call);
void loss_backward(KernelCall& call);

// experts.cpp
void router(KernelCall& call);
void router_backward(KernelCall& call);
void dispatch(KernelCall& call);
void dispatch_backward(KernelCall& call);
void combine(KernelCall& call);
void combine_backward(KernelCall& call);

// image.cpp
void convolution(KernelCall& call);
void convolution_input_grad(KernelCall& call);
void convolution_weight_grad(KernelCall& call);
void pool(KernelCall& call);
void pool_backward(KernelCall& call);
void temporal_shift(KernelCall& call);
void temporal_shift_backward(KernelCall& call);

// update.cpp
void update(KernelCall& call);

// kernels.cpp: errors of operands.
[[noreturn]] void refuse(const KernelCall& call, const std::string& why);
/// Dimensions that both have must hold the same indices. Slots of experts are a bag: their number
/// alone has to agree.
void check_aligned(const KernelCall& call, const Tensor& a, const PartLayout& in_a, const Tensor& b,
                   const PartLayout& in_b);
/// A dimension that has to be whole on the rank.
void check_whole(const KernelCall& call, const Tensor& tensor, const PartAxis& axis);
/// The dimension, which the part must have.
[[nodiscard]] const PartAxis& axis_of(const KernelCall& call, const Tensor& tensor,
                                      const PartLayout& layout, Dim dim);

}  // namespace lockstep::kernels
