#pragma once

#include <map>

#include "sim/program/mesh.hpp"
#include "strategies/models/model_graph.hpp"

namespace lockstep {

/// Which dimension is sharded along which mesh sub-axes. Strategies declare this, and
/// propagate_sharding() derives the communication: data parallelism shards `batch`, tensor
/// parallelism `heads`, `kv_heads`, `ffn` and `vocabulary`, sequence parallelism the `sequence` of
/// the residual stream, Ulysses the heads inside attention, expert parallelism `expert`.
struct ShardingRules {
  std::map<Dim, MeshSubAxes> shardings{};  // outermost first
  /// Also shards the sequence of the residual stream, norms and all else that is not sharded by
  /// heads, ffn or vocabulary (Megatron's sequence parallelism).
  MeshSubAxes between{};
  /// Inside attention: additional sharding of heads and kv_heads, and the only sharding of the
  /// sequence.
  MeshSubAxes attention_heads{};
  MeshSubAxes attention_kv_heads{};
  MeshSubAxes attention_sequence{};
  /// `ffn` of experts.
  MeshSubAxes expert_ffn{};
};

/// Shards every tensor of a model by the rules and inserts the communication between operations: a
/// GEMM that contracts a sharded dimension leaves a partial sum (all-reduce, or reduce-scatter if
/// the result is sharded), an operation that needs a whole dimension gets an all-gather, and a
/// sharding that moves between dimensions an all-to-all. Gradients of weights stay partial sums
/// (Tensor::partial); so expert gradients are reduced over fewer ranks than others, and those of
/// norms under sequence parallelism over more.
/// Gathered tensors are not kept for backward but gathered again, unless `keeps_gathered` says so
/// of those of tensor parallelism; results of all-to-alls are kept, as they are no larger than
/// their inputs. InternalError for operations that cannot be sharded by these rules.
void propagate_sharding(ModelGraph& graph, const Mesh& mesh, const ShardingRules& rules,
                        bool keeps_gathered = false);

}  // namespace lockstep
