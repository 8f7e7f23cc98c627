#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/traffic_weight.hpp"
#include "sim/program/tensor.hpp"
#include "sim/program/visible_keys.hpp"
#include "sim/schedule/contract.hpp"

/// Operations of ranks: computation on local tensors, and communication.
namespace lockstep {

/// In brackets: reads -> writes, in this order. `g_x` is the gradient of x.
enum class OperationKind : std::uint8_t {
  // Sum over the dimensions that both have and the result has not; a forward GEMM, the gradient
  // of an input and of a weight are all of this kind.
  matmul,         // [a, b, (bias)] -> [y]; accumulate: y += a b
  bias_gradient,  // [g_y] -> [g_bias]: sum over all dimensions that g_bias lacks
  // Fused: scores are not stored. Sinks: a learned logit per head.
  attention,           // [q, k, v, (o, statistics) or (sinks)] -> [o, statistics]
  attention_backward,  // [q, k, v, o, statistics, g_o, (sinks)] -> [g_q, g_k, g_v, (g_sinks)]
  attention_scores,    // [q, k] -> [scores]: q k^T / sqrt(head_size)
  attention_scores_backward,   // [q, k, g_scores] -> [g_q, g_k]
  softmax,                     // [scores] -> [probabilities], over `keys`, masked when causal
  softmax_backward,            // [probabilities, g_probabilities] -> [g_scores]
  attention_context,           // [probabilities, v] -> [o]
  attention_context_backward,  // [probabilities, v, g_o] -> [g_probabilities, g_v]
  normalization,               // [x, gain, (bias)] -> [y, statistics]
  normalization_backward,      // [x, gain, statistics, g_y] -> [g_x, g_gain, (g_bias)]
  activation,                  // [x, (gate)] -> [y]; swiglu: y = silu(gate) * x, geglu: gelu
  activation_backward,         // [x, (gate), g_y] -> [g_x, (g_gate)]
  // Rotary positions. `shared`: one key for all heads (MLA), which is rotated instead of x and
  // appended to every head's key.
  rotary,            // [x, (shared)] -> [y]
  rotary_backward,   // [g_y] -> [g_x, (g_shared)]
  dropout,           // [x] -> [y, mask]
  dropout_backward,  // [g_y, mask] -> [g_x]
  add,               // [a, b] -> [y]
  // Rows of a table by index; the table's first dimension is vocabulary or positions.
  embedding,           // [tokens, table] -> [y]
  embedding_backward,  // [tokens, g_y] -> [g_table]
  // Cross-entropy over a vocabulary that may be sharded: maximum, then sum and the label's logit.
  loss_maximum,   // [logits] -> [maximum]
  loss_sum,       // [logits, labels, maximum] -> [sum, target]: sum of exp(logit - maximum)
  loss,           // [maximum, sum, target] -> [loss]: times `factor`, the mean over all tokens
  loss_backward,  // [logits, labels, maximum, sum, (zeros)] -> [g_logits]: times `factor`
  // Mixture of experts.
  router,             // [logits] -> [weights, experts]: softmax and the top k
  router_backward,    // [logits, weights, experts, g_weights] -> [g_logits]
  dispatch,           // [x, experts] -> [slots]: tokens to the slots of their experts
  dispatch_backward,  // [g_slots, experts] -> [g_x]
  combine,            // [slots, weights, experts] -> [y]
  combine_backward,   // [slots, weights, experts, g_y] -> [g_slots, g_weights]
  // Convolutional nets.
  convolution,              // [x, weight] -> [y]
  convolution_input_grad,   // [g_y, weight] -> [g_x]
  convolution_weight_grad,  // [x, g_y] -> [g_weight]
  batch_norm,               // [x, gain, bias] -> [y, statistics]
  batch_norm_backward,      // [x, gain, statistics, g_y] -> [g_x, g_gain, g_bias]
  pool,                     // [x] -> [y]: maximum over a window; mean of everything if window is 0
  pool_backward,            // [x, y, g_y] -> [g_x]
  temporal_shift,  // [x] -> [y]: shifts part of the channels by one frame, part by minus one
  temporal_shift_backward,  // [g_y] -> [g_x]
  // For all models.
  fill,   // [] -> [x]: zeros
  scale,  // [x] -> [y]: times `factor`
  /// [x] -> [y] of another dtype. [weights ..., (x)] -> [], `math` fp8: casts weights to fp8
  /// operands of GEMMs, which are no tensors of the program, once x is available.
  cast,
  slice,       // [x] -> [y]: the rank's shard of a less sharded tensor; takes no time
  update,      // [gradient, weights and states ...] -> [weights and states ...]
  collective,  // [parts ...] -> [results ...], one message; see Communication
  send,        // [x] -> []
  receive,     // [] -> [x]
  host_copy,   // [x] -> [y]: between device and host
};
[[nodiscard]] std::string_view to_string(OperationKind kind);

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
[[nodiscard]] std::string_view to_string(OperationClass of);
[[nodiscard]] OperationClass class_of(OperationKind kind);

/// Purpose of an operation: the model's own work, recomputation, or other.
enum class Purpose : std::uint8_t { forward, backward, recompute, update, communication };
[[nodiscard]] std::string_view to_string(Purpose purpose);

enum class ActivationFunction : std::uint8_t { relu, gelu, silu, swiglu, squared_relu, geglu };
/// Whether it multiplies by a gate.
[[nodiscard]] constexpr bool is_gated(ActivationFunction function) {
  return function == ActivationFunction::swiglu || function == ActivationFunction::geglu;
}
enum class Normalization : std::uint8_t { layer, rms };
enum class Optimizer : std::uint8_t { sgd, momentum, adam };
enum class Reduction : std::uint8_t { sum, maximum };

/// A tensor as named in a routine: at the position and microbatch of the call, or a fixed number of
/// positions further.
struct Ref {
  TensorId tensor = 0;
  int further = 0;                  // positions after the call's
  std::optional<int> position{};    // instead: this position
  std::optional<int> microbatch{};  // instead: this microbatch

  friend bool operator==(const Ref&, const Ref&) = default;
};

/// Participants of a communication, by mesh axes instead of ranks.
struct Communication {
  Collective collective = Collective::all_reduce;
  MeshSubAxes over{};  // the communicator: ranks that differ along these, outermost first
  /// Positions along `over` that take part, ascending; empty: all.
  std::vector<int> participants{};
  /// A host takes part after the ranks, as the root: its index among the roles of hosts.
  std::optional<int> host{};
  int root = 0;  // a position along `over`, unless a host is the root
  Reduction reduction = Reduction::sum;
  /// all_gather, reduce_scatter: the dimension gathered or scattered; none: flat shards.
  /// all_to_all: `cut` becomes sharded, `joined` whole.
  std::optional<Dim> cut{};
  std::optional<Dim> joined{};
  std::string algorithm{};  // such as `ring:channels=2`; empty: the scenario's for the group
  std::string group{};      // name in reports: tp, cp, ep, dp, pp, embedding
  /// send, receive: the peer's position along `over` relative to the own, modulo its size.
  int offset = 0;
  TrafficWeight traffic_weight = 1;  // on links that others use at the same time
};

using StreamId = std::uint8_t;
inline constexpr StreamId kComputeStream = 0;

struct Operation {
  OperationKind kind = OperationKind::fill;
  std::string name;  // "mlp.up"
  StreamId stream = kComputeStream;
  Purpose purpose = Purpose::forward;
  std::vector<Ref> reads{};
  std::vector<Ref> writes{};
  /// Accumulates into its results. Gradients always accumulate: they are zero at the start of the
  /// step and sum over microbatches.
  bool accumulate = false;
  /// GEMMs of a routine with equal numbers: above zero one kernel, below zero separate kernels.
  int fused = 0;
  /// Precision of GEMMs; other operations use that of their inputs.
  std::optional<Dtype> math{};
  /// fp8 matmul: operands already cast for an earlier operation.
  std::array<bool, 2> at_hand{};
  // For some kinds only.
  bool causal = false;
  double factor = 1;  // scale, loss: factor; GEMMs of experts: work of the busiest rank
                      // over the mean
  ActivationFunction function = ActivationFunction::gelu;
  Normalization norm = Normalization::layer;
  Optimizer optimizer = Optimizer::adam;
  int stride = 1;
  int window = 1;           // side length of a convolution or pool
  double dropout = 0;       // probability
  std::vector<Dim> over{};  // normalization: the last dimensions, which are normalized
  /// attention: ring steps between the own position and the source of the keys.
  int ring_offset = 0;
  /// attention, softmax: which earlier keys are visible to a query.
  VisibleKeys visible{};
  std::optional<Communication> communication{};
  /// Delays an operation until computation has ended. 0: that of all earlier calls; 1: of all but
  /// the last, so that it overlaps with it; -1: what its own call launched before, too; none: only
  /// what gives its operands. A receive with 0 also delays later operations of the compute stream.
  std::optional<int> ahead{};
  /// Barrier: starts when everything the rank launched before has ended, on all streams.
  bool after_all = false;
};

}  // namespace lockstep
