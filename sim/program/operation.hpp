#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/program/tensor.hpp"
#include "sim/program/visible_keys.hpp"
#include "sim/schedule/contract.hpp"

/// What ranks do: computation on their local tensors, and communication.
namespace lockstep {

/// In brackets: what is read -> what is written, in this order. `g_x` is the gradient of x.
enum class OperationKind : std::uint8_t {
  // Sum over the dimensions that both have and the result has not; a forward GEMM, the gradient
  // of an input and of a weight are all of this kind.
  matmul,         // [a, b, (bias)] -> [y]; accumulate: y += a b
  bias_gradient,  // [g_y] -> [g_bias]: the sum over all dimensions that g_bias has not
  // Fused: scores are never stored. Sinks: a number per head that joins the softmax's sum.
  attention,           // [q, k, v, (o, statistics) or (sinks)] -> [o, statistics]
  attention_backward,  // [q, k, v, o, statistics, g_o, (sinks)] -> [g_q, g_k, g_v, (g_sinks)]
  attention_scores,    // [q, k] -> [scores]: q k^T / sqrt(head_size)
  attention_scores_backward,   // [q, k, g_scores] -> [g_q, g_k]
  softmax,                     // [scores] -> [probabilities], over `keys`, masked when causal
  softmax_backward,            // [probabilities, g_probabilities] -> [g_scores]
  attention_context,           // [probabilities, v] -> [o]
  attention_context_backward,  // [probabilities, v, g_o] -> [g_probabilities, g_v]
  normalisation,               // [x, gain, (bias)] -> [y, statistics]
  normalisation_backward,      // [x, gain, statistics, g_y] -> [g_x, g_gain, (g_bias)]
  activation,                  // [x, (gate)] -> [y]; swiglu: y = silu(gate) * x, geglu: gelu
  activation_backward,         // [x, (gate), g_y] -> [g_x, (g_gate)]
  // Rotary positions. `shared`: one key for all heads (MLA), which is rotated in place of x and put
  // behind every head's.
  rotary,            // [x, (shared)] -> [y]
  rotary_backward,   // [g_y] -> [g_x, (g_shared)]
  dropout,           // [x] -> [y, mask]
  dropout_backward,  // [g_y, mask] -> [g_x]
  add,               // [a, b] -> [y]
  // Rows of a table by number, of whatever dimension comes first in it (vocabulary, positions).
  embedding,           // [tokens, table] -> [y]
  embedding_backward,  // [tokens, g_y] -> [g_table]
  // Cross-entropy over a vocabulary that may be cut: maximum, then sum and the label's logit.
  loss_maximum,   // [logits] -> [maximum]
  loss_sum,       // [logits, labels, maximum] -> [sum, target]: sum of exp(logit - maximum)
  loss,           // [maximum, sum, target] -> [loss]: times `factor`, the mean over all tokens
  loss_backward,  // [logits, labels, maximum, sum, (zeros)] -> [g_logits]: times `factor`
  // Mixture of experts.
  router,             // [logits] -> [weights, experts]: softmax and the top k
  router_backward,    // [logits, weights, experts, g_weights] -> [g_logits]
  dispatch,           // [x, experts] -> [slots]: each token to its experts' slots
  dispatch_backward,  // [g_slots, experts] -> [g_x]
  combine,            // [slots, weights, experts] -> [y]
  combine_backward,   // [slots, weights, experts, g_y] -> [g_slots, g_weights]
  // Convolutional nets.
  convolution,              // [x, weight] -> [y]
  convolution_input_grad,   // [g_y, weight] -> [g_x]
  convolution_weight_grad,  // [x, g_y] -> [g_weight]
  batch_norm,               // [x, gain, bias] -> [y, statistics]
  batch_norm_backward,      // [x, gain, statistics, g_y] -> [g_x, g_gain, g_bias]
  pool,                     // [x] -> [y]: maximum of a window; mean of everything when it is 0
  pool_backward,            // [x, y, g_y] -> [g_x]
  temporal_shift,           // [x] -> [y]: part of the channels one frame on, part one frame back
  temporal_shift_backward,  // [g_y] -> [g_x]
  // Whatever the model.
  fill,   // [] -> [x]: zeros
  scale,  // [x] -> [y]: times `factor`
  /// [x] -> [y] of another dtype. [weights ..., (x)] -> [], `math` fp8: weights become operands of
  /// GEMMs in 8 bits, which are no tensors of the program, when x is there.
  cast,
  slice,       // [x] -> [y]: the rank's part of what it holds more of; free of time
  update,      // [gradient, weights and states ...] -> [weights and states ...]
  collective,  // [parts ...] -> [results ...], one message; see Communication
  send,        // [x] -> []
  receive,     // [] -> [x]
  host_copy,   // [x] -> [y]: between device and host
};
[[nodiscard]] std::string_view to_string(OperationKind kind);

/// What an operation's time counts as. Also the classes of efficiency in device files.
enum class OperationClass : std::uint8_t {
  matmul,
  attention,
  normalisation,
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

/// Why an operation is done: what counts as the model's own work, and what is done again.
enum class Purpose : std::uint8_t { forward, backward, recompute, update, communication };
[[nodiscard]] std::string_view to_string(Purpose purpose);

enum class ActivationFunction : std::uint8_t { relu, gelu, silu, swiglu, squared_relu, geglu };
/// Whether it multiplies its input with that of a gate.
[[nodiscard]] constexpr bool is_gated(ActivationFunction function) {
  return function == ActivationFunction::swiglu || function == ActivationFunction::geglu;
}
enum class Normalisation : std::uint8_t { layer, rms };
enum class Optimizer : std::uint8_t { sgd, momentum, adam };
enum class Reduction : std::uint8_t { sum, maximum };

/// A tensor as a routine names it: at the position and microbatch that the routine is called for,
/// or a fixed number of positions further.
struct Ref {
  TensorId tensor = 0;
  int further = 0;                  // positions in the chain beyond the call's
  std::optional<int> position{};    // instead: this position
  std::optional<int> microbatch{};  // instead of the call's

  friend bool operator==(const Ref&, const Ref&) = default;
};

/// Who talks to whom, by mesh axes, never by rank.
struct Communication {
  Collective collective = Collective::all_reduce;
  MeshSubAxes over{};  // the communicator: the ranks that differ along these, outermost first
  /// Only these positions along `over` take part; empty: all.
  std::vector<int> only{};
  /// A host takes part too, after the ranks, and is the root: the number of its role among those of
  /// hosts.
  std::optional<int> host{};
  int root = 0;  // a position along `over`, where no host is the root
  Reduction reduction = Reduction::sum;
  /// all_gather, reduce_scatter: the dimension that is put together or cut; none: flat parts.
  /// all_to_all: `cut` becomes cut, `joined` becomes whole.
  std::optional<Dim> cut{};
  std::optional<Dim> joined{};
  std::string algorithm{};  // as in `ring:channels=2`; empty: as the scenario says for the group
  std::string group{};      // what reports call it: tp, cp, ep, dp, pp, embedding
  /// send, receive: the peer's position along `over` is the own one plus this, round the end.
  int offset = 0;
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
  /// Adds to what its written tensors hold. Those of category gradient are added to in any case:
  /// they start the step at zero and gather every microbatch.
  bool accumulate = false;
  /// Products of a routine with one number: above zero one kernel, below zero each one of its own.
  int fused = 0;
  /// Precision of GEMMs; others compute in that of what they read.
  std::optional<Dtype> math{};
  /// matmul in 8 bits: operands that have been cast already, for an operation before it.
  std::array<bool, 2> at_hand{};
  // By kind.
  bool causal = false;
  double factor = 1;  // scale, loss: multiplies; GEMMs of experts: what the busiest rank has to
                      // do, over the mean
  ActivationFunction function = ActivationFunction::gelu;
  Normalisation norm = Normalisation::layer;
  Optimizer optimizer = Optimizer::adam;
  int stride = 1;
  int window = 1;           // of a convolution or pool: side length
  double dropout = 0;       // probability
  std::vector<Dim> over{};  // normalisation: the last dimensions, which it sums over
  /// attention: how many parts along the ring the keys come from behind the own ones.
  int ring_offset = 0;
  /// attention, softmax: which of the keys up to its own a query sees.
  VisibleKeys visible{};
  std::optional<Communication> communication{};
  /// Holds back what could run too early: 0: all computation issued before must have ended; 1: all
  /// but that of the last call, so that this runs during it; none: as soon as its operands are
  /// there. A receive with 0 holds up what is issued to the compute stream after it, too.
  std::optional<int> ahead{};
  /// A barrier: begins when all that the rank issued before has ended, on whatever stream.
  bool after_all = false;
};

}  // namespace lockstep
