#pragma once

#include <map>

#include "sim/program/mesh.hpp"
#include "strategies/models/model_graph.hpp"

namespace lockstep {

/// Which dimension is cut along which atoms of the mesh. Strategies say this, and
/// propagate_sharding() finds what has to be communicated: data parallelism cuts `batch`, tensor
/// parallelism `heads`, `kv_heads`, `ffn` and `vocabulary`, sequence parallelism the `sequence` of
/// what lies between, Ulysses the heads inside attention, expert parallelism `expert`.
struct ShardingRules {
  std::map<Dim, MeshSubAxes> shardings{};  // outermost first
  /// The residual stream, its norms and whatever else is not cut by heads, ffn or vocabulary: its
  /// sequence is cut along these as well (Megatron's sequence parallelism).
  MeshSubAxes between{};
  /// Inside attention: further cuts of heads and of kv_heads, and the only cuts of the sequence.
  MeshSubAxes attention_heads{};
  MeshSubAxes attention_kv_heads{};
  MeshSubAxes attention_sequence{};
};

/// Cuts every tensor of a model by the rules and inserts what makes neighbours fit: where a product
/// contracts a cut dimension its result is a sum over ranks (all-reduce, or reduce-scatter where
/// the result is cut), where an operation wants a dimension whole that is cut it is gathered, and
/// where a cut moves from one dimension to another that is an all-to-all. Gradients of weights are
/// left as sums (Tensor::partial). The same rule makes expert gradients sums over fewer ranks than
/// others, and norms' under sequence parallelism over more.
///
/// What is gathered is not kept from forward to backward: it is gathered again. What an all-to-all
/// has brought is kept, as attention keeps what it has read: it is no larger than what it was.
/// Errors: InternalError for operations that cannot be cut so.
void propagate_sharding(ModelGraph& graph, const Mesh& mesh, const ShardingRules& rules);

}  // namespace lockstep
