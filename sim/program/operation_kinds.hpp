#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "sim/program/operand_list.hpp"

/// Kinds of operations: everything that is a property of a kind, one row per kind.
namespace lockstep {

enum class OperationKind : std::uint8_t {
  // Sum over the dimensions that both have and the result has not; a forward GEMM, the gradient
  // of an input and of a weight are all of this kind.
  matmul,
  bias_gradient,  // sum over all dimensions that g_bias lacks
  attention,      // fused: scores are not stored; sinks: a learned logit per head
  attention_backward,
  attention_scores,  // q k^T / sqrt(head_size)
  attention_scores_backward,
  softmax,  // over `keys`, masked when causal
  softmax_backward,
  attention_context,
  attention_context_backward,
  relative_bias,  // scores plus a number of every head for the distance of query and key (T5)
  relative_bias_backward,
  normalization,
  normalization_backward,
  activation,  // swiglu: y = silu(gate) * x, geglu: gelu
  activation_backward,
  weighted_activation,  // each row of its result times a number
  weighted_activation_backward,
  // Rotary positions. `shared`: one key for all heads (MLA), which is rotated instead of x and
  // appended to every head's key.
  rotary,
  rotary_backward,
  dropout,
  dropout_backward,
  add,
  // Rows of a table by index; the table's first dimension is vocabulary or positions.
  embedding,
  embedding_backward,
  // Cross-entropy over a vocabulary that may be sharded: maximum, then sum and the label's logit.
  loss_maximum,
  loss_sum,  // sum of exp(logit - maximum)
  loss,      // times `factor`, the mean over all tokens; the sum of errors if there is but a sum
  loss_backward,  // times `factor`
  // Mixture of experts.
  router,  // softmax and the top k
  router_backward,
  dispatch,  // tokens to the slots of their experts
  dispatch_backward,
  combine,  // sum of a token's slots, each times the router's weight
  combine_backward,
  // The router's weights go to the slots with the tokens, and what comes back is only summed.
  dispatch_weights,
  dispatch_weights_backward,
  unpermute,
  unpermute_backward,
  // Convolutional nets.
  convolution,
  convolution_input_grad,
  convolution_weight_grad,
  batch_norm,
  batch_norm_backward,
  pool,  // maximum over a window; mean of everything if window is 0
  pool_backward,
  temporal_shift,  // shifts part of the channels by one frame, part by minus one
  temporal_shift_backward,
  // Vision transformers.
  class_token,  // a learned token before the patches of every image
  class_token_backward,
  pool_tokens,  // the first token; the mean of all if window is 0
  pool_tokens_backward,
  // Diffusion transformers.
  modulate,  // x (1 + scale) + shift, both of a sequence; without shift x times scale: a gate
  modulate_backward,
  squared_error,           // sums over the last dimension
  squared_error_backward,  // times `factor`
  // For all models.
  fill,   // zeros
  scale,  // each of some tensors times `factor`
  // To another dtype. Without a result, `math` of at most 8 bits: casts weights to operands of
  // GEMMs, which are no tensors of the program, once the last read, an activation, is available.
  cast,
  check_finite,  // whether all numbers are finite: for the host, which waits for the result
  slice,         // the rank's shard of a less sharded tensor; takes no time
  update,        // per weight: gradient, (weight), states -> weight, states
  // Optimizers of whole matrices. Their gradients become a stack of directions, which is cut by
  // matrices where they are whole, and updates weights when it is back.
  momentum,  // per weight: gradient, momentum -> its part of the stack, momentum
  // Newton-Schulz iterations on every matrix of a stack; with Gram matrices, one iteration.
  orthogonalize,
  gram,          // of every matrix of a stack of blocks: what this block adds to it
  precondition,  // a stack and the preconditioners of its matrices, both ways
  collective,    // one message; see Communication
  send,
  receive,
  host_copy,  // between device and host
};
inline constexpr std::size_t kOperationKinds =
    static_cast<std::size_t>(OperationKind::host_copy) + 1;

/// Class of an operation's time, and of efficiencies in device files.
enum class OperationClass : std::uint8_t {
  matmul,
  attention,
  normalization,
  activation,
  elementwise,
  embedding,
  loss,
  routing,
  convolution,
  optimizer,
  copy,
  communication,
};
inline constexpr std::size_t kOperationClasses =
    static_cast<std::size_t>(OperationClass::communication) + 1;

/// What a kernel costs; see kernel.hpp.
enum class WorkRule : std::uint8_t {
  none,       // no kernel
  memory,     // its operands, moved once
  embedding,  // the rows of a table that tokens select
  embedding_gradient,
  cast,  // memory; without a result, casts of weights for GEMMs
  gemm,
  attention,
  unfused_attention,  // GEMMs of the shape of scores
  convolution,
  gemm_series,  // GEMMs one after the other, all of one size of matrices
};

/// How its operands may be sharded so that every rank computes its part locally; see
/// strategies/sharding/operand_placement.hpp.
enum class PlacementRule : std::uint8_t {
  as_result,  // all like the main result or, if that is not settled, the first read; `over` is
              // whole
  gemm,
  attention,
  embedding,
  embedding_gradient,
  loss_part,  // over a sharded vocabulary every rank has its own
  loss,
  shared_keys,  // as_result; keys that all heads share get a partial sum from every head
  // Slots stay on the rank of their tokens, which lie like x or y, or their gradient, or like their
  // choice of experts.
  tokens_of_x,
  tokens_of_y,
  tokens_of_experts,
  weighted_rows,  // as_result; weights of rows get a partial sum from every part of a row
  modulated,      // as_result; scale and shift get one from every part of a sequence
};

/// How gradients of its reads are made; see strategies/models/reverse_rules.cpp.
enum class GradientRule : std::uint8_t {
  none,
  /// One operation of kind `gradient`. Its operands have the names of what they are: an operand of
  /// the forward operation, or g_x, the gradient of x.
  by_names,
  added,   // by_names, but the first of its reads has the gradient of the result
  linear,  // the same operation on the gradient
  sum,     // all reads have the gradient of the result: nothing is computed
  gemms,
  convolution,
  loss,  // by_names; the result of the last operation of the loss is that of all
};

/// Dimensions along which all operands hold the same part.
enum class CommonDims : std::uint8_t {
  all,
  all_but_sequence,   // keys of a ring are other tokens
  all_but_head_size,  // a shared key is appended to every head's own
  batch,
  none,  // or as its kernel checks: a table of relative positions has more heads than scores
};

struct OperationKindRow {
  OperationKind kind;
  std::string_view name;
  OperationClass of;
  OperandList reads;
  OperandList writes;
  WorkRule work = WorkRule::memory;
  PlacementRule placement = PlacementRule::as_result;
  CommonDims common = CommonDims::all;
  GradientRule gradient_rule = GradientRule::none;
  OperationKind gradient = OperationKind::fill;  // of by_names, loss
  /// Its kernel may write over what it reads, element by element.
  bool in_place = false;
  /// Carries numbers on: does not add to gradients unless the operation accumulates.
  bool carries = false;
  /// Between ranks; has no kernel.
  bool exchange = false;
};

namespace operation_kinds {

using Kind = OperationKind;
using Class = OperationClass;
using Work = WorkRule;
using Place = PlacementRule;
using Common = CommonDims;
using Gradient = GradientRule;
enum class Flag : std::uint8_t { in_place, carries, exchange };

struct Differentiated {
  GradientRule rule;
  OperationKind by;
};
[[nodiscard]] constexpr Differentiated by_names(OperationKind gradient) {
  return {GradientRule::by_names, gradient};
}

constexpr void set(OperationKindRow& row, WorkRule rule) {
  row.work = rule;
}
constexpr void set(OperationKindRow& row, PlacementRule rule) {
  row.placement = rule;
}
constexpr void set(OperationKindRow& row, CommonDims dims) {
  row.common = dims;
}
constexpr void set(OperationKindRow& row, GradientRule rule) {
  row.gradient_rule = rule;
}
constexpr void set(OperationKindRow& row, Differentiated how) {
  row.gradient_rule = how.rule;
  row.gradient = how.by;
}
constexpr void set(OperationKindRow& row, Flag flag) {
  (flag == Flag::in_place  ? row.in_place
   : flag == Flag::carries ? row.carries
                           : row.exchange) = true;
}
/// What is not the default comes after the operands, in any order.
template <class... Properties>
[[nodiscard]] constexpr OperationKindRow row(OperationKind kind, std::string_view name,
                                             OperationClass of, OperandList reads,
                                             OperandList writes, Properties... properties) {
  OperationKindRow out{kind, name, of, reads, writes};
  (set(out, properties), ...);
  return out;
}

inline constexpr std::array kRows{
    row(Kind::matmul, "matmul", Class::matmul, "a b [bias]", "y", Work::gemm, Place::gemm,
        Gradient::gemms),
    row(Kind::bias_gradient, "bias_gradient", Class::elementwise, "g_y", "g_bias"),
    row(Kind::attention, "attention", Class::attention, "q k v [o statistics | sinks]",
        "o statistics", Work::attention, Place::attention, Common::all_but_sequence,
        by_names(Kind::attention_backward), Flag::in_place),
    row(Kind::attention_backward, "attention_backward", Class::attention,
        "q k v o statistics g_o [sinks]", "g_q g_k g_v [g_sinks]", Work::attention,
        Place::attention, Common::all_but_sequence),
    row(Kind::attention_scores, "attention_scores", Class::attention, "q k", "scores",
        Work::unfused_attention, Place::attention, Common::all_but_sequence,
        by_names(Kind::attention_scores_backward)),
    row(Kind::attention_scores_backward, "attention_scores_backward", Class::attention,
        "q k g_scores", "g_q g_k", Work::unfused_attention, Place::attention,
        Common::all_but_sequence),
    row(Kind::softmax, "softmax", Class::attention, "scores", "probabilities", Place::attention,
        by_names(Kind::softmax_backward)),
    row(Kind::softmax_backward, "softmax_backward", Class::attention,
        "probabilities g_probabilities", "g_scores", Place::attention),
    row(Kind::attention_context, "attention_context", Class::attention, "probabilities v", "o",
        Work::unfused_attention, Place::attention, Common::all_but_sequence,
        by_names(Kind::attention_context_backward)),
    row(Kind::attention_context_backward, "attention_context_backward", Class::attention,
        "probabilities v g_o", "g_probabilities g_v", Work::unfused_attention, Place::attention,
        Common::all_but_sequence),
    row(Kind::relative_bias, "relative_bias", Class::attention, "scores table", "y",
        Place::attention, Differentiated{Gradient::added, Kind::relative_bias_backward},
        Flag::in_place),
    row(Kind::relative_bias_backward, "relative_bias_backward", Class::attention, "g_y", "g_table",
        Place::attention, Common::none),
    row(Kind::normalization, "normalization", Class::normalization, "x [gain | gain bias]",
        "y statistics", by_names(Kind::normalization_backward)),
    row(Kind::normalization_backward, "normalization_backward", Class::normalization,
        "x [gain] statistics g_y", "g_x [g_gain | g_gain g_bias]"),
    row(Kind::activation, "activation", Class::activation, "x [gate]", "y",
        by_names(Kind::activation_backward), Flag::in_place),
    row(Kind::activation_backward, "activation_backward", Class::activation, "x [gate] g_y",
        "g_x [g_gate]"),
    row(Kind::weighted_activation, "weighted_activation", Class::activation, "x weights [gate]",
        "y", Place::weighted_rows, by_names(Kind::weighted_activation_backward), Flag::in_place),
    row(Kind::weighted_activation_backward, "weighted_activation_backward", Class::activation,
        "x weights [gate] g_y", "g_x g_weights [g_gate]", Place::weighted_rows),
    row(Kind::rotary, "rotary", Class::elementwise, "x [shared]", "y", Common::all_but_head_size,
        by_names(Kind::rotary_backward)),
    row(Kind::rotary_backward, "rotary_backward", Class::elementwise, "g_y", "g_x [g_shared]",
        Place::shared_keys, Common::all_but_head_size),
    row(Kind::dropout, "dropout", Class::elementwise, "x", "y mask",
        by_names(Kind::dropout_backward)),
    row(Kind::dropout_backward, "dropout_backward", Class::elementwise, "g_y mask", "g_x"),
    row(Kind::add, "add", Class::elementwise, "a b", "y", Gradient::sum, Flag::in_place,
        Flag::carries),
    row(Kind::embedding, "embedding", Class::embedding, "tokens table", "y", Work::embedding,
        Place::embedding, by_names(Kind::embedding_backward)),
    row(Kind::embedding_backward, "embedding_backward", Class::embedding, "tokens g_y", "g_table",
        Work::embedding_gradient, Place::embedding_gradient),
    row(Kind::loss_maximum, "loss_maximum", Class::loss, "logits", "maximum", Place::loss_part),
    row(Kind::loss_sum, "loss_sum", Class::loss, "logits labels maximum", "sum target",
        Place::loss_part, Differentiated{Gradient::loss, Kind::loss_backward}),
    row(Kind::loss, "loss", Class::loss, "[maximum sum target | sum]", "loss", Place::loss),
    row(Kind::loss_backward, "loss_backward", Class::loss, "logits labels maximum sum [zeros]",
        "g_logits"),
    row(Kind::router, "router", Class::routing, "logits", "weights experts",
        by_names(Kind::router_backward)),
    row(Kind::router_backward, "router_backward", Class::routing,
        "logits weights experts g_weights", "g_logits"),
    row(Kind::dispatch, "dispatch", Class::routing, "x experts", "slots", Place::tokens_of_x,
        by_names(Kind::dispatch_backward)),
    row(Kind::dispatch_backward, "dispatch_backward", Class::routing, "g_slots experts", "g_x",
        Place::tokens_of_x),
    row(Kind::combine, "combine", Class::routing, "slots weights experts", "y", Place::tokens_of_y,
        by_names(Kind::combine_backward)),
    row(Kind::combine_backward, "combine_backward", Class::routing, "slots weights experts g_y",
        "g_slots g_weights", Place::tokens_of_y),
    row(Kind::dispatch_weights, "dispatch_weights", Class::routing, "x experts", "slots",
        Place::tokens_of_experts, by_names(Kind::dispatch_weights_backward)),
    row(Kind::dispatch_weights_backward, "dispatch_weights_backward", Class::routing,
        "g_slots experts", "g_x", Place::tokens_of_experts),
    row(Kind::unpermute, "unpermute", Class::routing, "slots experts", "y", Place::tokens_of_y,
        by_names(Kind::unpermute_backward)),
    row(Kind::unpermute_backward, "unpermute_backward", Class::routing, "experts g_y", "g_slots",
        Place::tokens_of_y),
    row(Kind::convolution, "convolution", Class::convolution, "x weight", "y", Work::convolution,
        Common::batch, Gradient::convolution),
    row(Kind::convolution_input_grad, "convolution_input_grad", Class::convolution, "g_y weight",
        "g_x", Work::convolution, Common::batch),
    row(Kind::convolution_weight_grad, "convolution_weight_grad", Class::convolution, "x g_y",
        "g_weight", Work::convolution, Common::batch),
    row(Kind::batch_norm, "batch_norm", Class::normalization, "x gain bias", "y statistics",
        by_names(Kind::batch_norm_backward)),
    row(Kind::batch_norm_backward, "batch_norm_backward", Class::normalization,
        "x gain statistics g_y", "g_x g_gain g_bias"),
    row(Kind::pool, "pool", Class::elementwise, "x", "y", Common::batch,
        by_names(Kind::pool_backward)),
    row(Kind::pool_backward, "pool_backward", Class::elementwise, "x y g_y", "g_x", Common::batch),
    row(Kind::temporal_shift, "temporal_shift", Class::elementwise, "x", "y",
        by_names(Kind::temporal_shift_backward)),
    row(Kind::temporal_shift_backward, "temporal_shift_backward", Class::elementwise, "g_y", "g_x"),
    row(Kind::class_token, "class_token", Class::elementwise, "x weight", "y", Common::batch,
        by_names(Kind::class_token_backward)),
    row(Kind::class_token_backward, "class_token_backward", Class::elementwise, "g_y",
        "g_x g_weight", Common::batch),
    row(Kind::pool_tokens, "pool_tokens", Class::elementwise, "x", "y", Common::batch,
        by_names(Kind::pool_tokens_backward)),
    row(Kind::pool_tokens_backward, "pool_tokens_backward", Class::elementwise, "g_y", "g_x",
        Common::batch),
    row(Kind::modulate, "modulate", Class::elementwise, "x scale [shift]", "y", Place::modulated,
        by_names(Kind::modulate_backward)),
    row(Kind::modulate_backward, "modulate_backward", Class::elementwise, "x scale g_y",
        "g_x g_scale [g_shift]", Place::modulated),
    row(Kind::squared_error, "squared_error", Class::loss, "x target", "sum",
        Differentiated{Gradient::loss, Kind::squared_error_backward}),
    row(Kind::squared_error_backward, "squared_error_backward", Class::loss, "x target", "g_x"),
    row(Kind::fill, "fill", Class::elementwise, "", "x...", Common::none, Flag::carries),
    row(Kind::scale, "scale", Class::elementwise, "x...", "y...", Common::none, Gradient::linear,
        Flag::in_place, Flag::carries),
    row(Kind::cast, "cast", Class::elementwise, "x...", "y...", Work::cast, Common::none,
        Gradient::linear, Flag::in_place, Flag::carries),
    row(Kind::check_finite, "check_finite", Class::elementwise, "x...", "", Common::none),
    row(Kind::slice, "slice", Class::copy, "x", "y", Work::none, Common::none, Flag::carries),
    row(Kind::update, "update", Class::optimizer, "gradient states...", "weight states...",
        Common::none, Flag::in_place, Flag::carries),
    row(Kind::momentum, "momentum", Class::optimizer, "gradient states...", "y states...",
        Common::none, Flag::carries),
    row(Kind::orthogonalize, "orthogonalize", Class::optimizer, "x [a]", "y", Work::gemm_series,
        Common::none, Flag::carries),
    row(Kind::gram, "gram", Class::optimizer, "x", "a", Work::gemm_series, Common::none,
        Flag::carries),
    row(Kind::precondition, "precondition", Class::optimizer, "x states...", "y states...",
        Work::gemm_series, Common::none, Flag::carries),
    row(Kind::collective, "collective", Class::communication, "parts...", "results...", Work::none,
        Flag::exchange),
    row(Kind::send, "send", Class::communication, "x", "", Work::none, Flag::exchange),
    row(Kind::receive, "receive", Class::communication, "", "x", Work::none, Flag::exchange),
    row(Kind::host_copy, "host_copy", Class::communication, "x", "y", Work::none, Common::none,
        Flag::carries),
};

constexpr bool in_order() {
  for (std::size_t i = 0; i < kRows.size(); ++i) {
    if (static_cast<std::size_t>(kRows[i].kind) != i) return false;
  }
  return kRows.size() == kOperationKinds;
}
static_assert(in_order(), "rows stand in the order of OperationKind");

}  // namespace operation_kinds

[[nodiscard]] constexpr const OperationKindRow& row_of(OperationKind kind) {
  return operation_kinds::kRows[static_cast<std::size_t>(kind)];
}
[[nodiscard]] constexpr std::string_view to_string(OperationKind kind) {
  return row_of(kind).name;
}
[[nodiscard]] constexpr OperationClass class_of(OperationKind kind) {
  return row_of(kind).of;
}
[[nodiscard]] std::string_view to_string(OperationClass of);
/// Whether its time is that of matrix units, unless memory takes longer.
[[nodiscard]] constexpr bool uses_matrix_units(OperationKind kind) {
  const WorkRule work = row_of(kind).work;
  return work == WorkRule::gemm || work == WorkRule::attention ||
         work == WorkRule::unfused_attention || work == WorkRule::convolution ||
         work == WorkRule::gemm_series;
}

}  // namespace lockstep
