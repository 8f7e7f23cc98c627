#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/traffic_weight.hpp"
#include "sim/program/operation_kinds.hpp"
#include "sim/program/tensor.hpp"
#include "sim/program/visible_keys.hpp"
#include "sim/schedule/contract.hpp"

/// Operations of ranks: computation on local tensors, and communication.
namespace lockstep {

/// Purpose of an operation: the model's own work, recomputation, or other.
enum class Purpose : std::uint8_t { forward, backward, recompute, update, communication };
[[nodiscard]] std::string_view to_string(Purpose purpose);

enum class ActivationFunction : std::uint8_t { relu, gelu, silu, swiglu, squared_relu, geglu };
/// Whether it multiplies by a gate.
[[nodiscard]] constexpr bool is_gated(ActivationFunction function) {
  return function == ActivationFunction::swiglu || function == ActivationFunction::geglu;
}
enum class Normalization : std::uint8_t { layer, rms };
/// outer: of DiLoCo's outer loop, SGD with Nesterov momentum. muon, soap: of matrices; other
/// weights take adam.
enum class Optimizer : std::uint8_t { sgd, momentum, adam, outer, muon, soap };
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

/// An all-to-all of experts' tokens of which a rank, and a node of several ranks, gets one copy,
/// to however many of its experts they go (DeepEP).
struct TokenCopies {
  std::int64_t experts = 1;
  std::int64_t top_k = 1;
  std::int64_t groups = 1;  // of experts in order; a token goes to those of at most `group_top_k`
  std::int64_t group_top_k = 1;
  double widening = 1;      // bytes that travel over those of the tensor's numbers
  bool returns = false;     // from experts to tokens: copies are added up on the way
  int multiprocessors = 0;  // that it takes from concurrent computation

  friend bool operator==(const TokenCopies&, const TokenCopies&) = default;
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
  /// all_to_all of tokens; none: each token once for each of its experts. With it, tensors after
  /// the first travel in the messages of that one, without bytes of their own.
  std::optional<TokenCopies> copies{};
};

/// The matrices of one size in a stack. Every item of the stack is `row_parts` * `column_parts`
/// blocks one after the other, row by row; each block is `count` parts of matrices, each row-major,
/// then padding.
struct MatrixStack {
  std::int64_t rows = 1;
  std::int64_t columns = 1;
  std::int64_t count = 1;  // matrices per item: one, or one for each expert
  int row_parts = 1;
  int column_parts = 1;
  /// orthogonalize: blocks of every matrix, each of which is taken as a matrix of its own.
  int rows_apart = 1;
  int columns_apart = 1;
  /// orthogonalize, gram: products that are symmetric are computed by half.
  bool symmetric = false;
  int iterations = 5;       // orthogonalize: of Newton-Schulz
  bool normalized = false;  // orthogonalize: the norm of every matrix is 1 or less already
  std::int64_t largest_side = 10000;  // precondition: longer sides have no preconditioner
  int every = 10;                     // precondition: steps between two bases

  friend auto operator<=>(const MatrixStack&, const MatrixStack&) = default;
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
  /// GEMMs in at most 8 bits: operands already cast for an earlier operation.
  std::array<bool, 2> at_hand{};
  // For some kinds only.
  bool causal = false;
  double factor = 1;  // scale, loss: factor; GEMMs of experts: work of the busiest rank
                      // over the mean
  ActivationFunction function = ActivationFunction::gelu;
  Normalization norm = Normalization::layer;
  Optimizer optimizer = Optimizer::adam;
  int stride = 1;
  int window = 1;      // side length of a convolution or pool
  double dropout = 0;  // probability
  /// normalization: the last dimensions, which are normalized. pool_tokens: that of tokens.
  std::vector<Dim> over{};
  /// attention: ring steps between the own position and the source of the keys.
  int ring_offset = 0;
  /// attention, softmax: which earlier keys are visible to a query.
  VisibleKeys visible{};
  std::optional<Communication> communication{};
  std::optional<MatrixStack> matrices{};  // of orthogonalize, precondition, update by stacks
  /// Delays an operation until computation has ended. 0: that of all earlier calls; 1: of all but
  /// the last, so that it overlaps with it; -1: what its own call launched before, too; none: only
  /// what gives its operands. A receive with 0 also delays later operations of the compute stream.
  std::optional<int> ahead{};
  /// Barrier: starts when everything the rank launched before has ended, on all streams.
  bool after_all = false;
  /// The host waits for its end before it launches anything more.
  bool host_waits = false;
};

/// Index of an operand among what an operation reads or writes; none: it has none.
[[nodiscard]] inline std::optional<std::size_t> read_place(const Operation& operation,
                                                           Operand operand) {
  return row_of(operation.kind).reads.find(operand, operation.reads.size());
}
[[nodiscard]] inline std::optional<std::size_t> write_place(const Operation& operation,
                                                            Operand operand) {
  return row_of(operation.kind).writes.find(operand, operation.writes.size());
}
[[nodiscard]] inline bool reads(const Operation& operation, Operand operand) {
  return read_place(operation, operand).has_value();
}
[[nodiscard]] inline bool writes(const Operation& operation, Operand operand) {
  return write_place(operation, operand).has_value();
}
/// What an operation reads or writes as this operand. Throw InternalError where it has none.
[[nodiscard]] const Ref& read_of(const Operation& operation, Operand operand);
[[nodiscard]] const Ref& write_of(const Operation& operation, Operand operand);
[[nodiscard]] Ref& read_of(Operation& operation, Operand operand);
[[nodiscard]] Ref& write_of(Operation& operation, Operand operand);
/// What a send or a receive carries.
[[nodiscard]] const Ref& carried(const Operation& message);
/// Indices of the same, for what is stored in parallel to an operation's operands.
[[nodiscard]] std::size_t read_index(const Operation& operation, Operand operand);
[[nodiscard]] std::size_t write_index(const Operation& operation, Operand operand);

}  // namespace lockstep
