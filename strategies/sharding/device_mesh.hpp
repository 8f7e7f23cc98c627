#pragma once

#include <optional>
#include <string>

#include "sim/program/mesh.hpp"
#include "strategies/layout/parallel_config.hpp"
#include "strategies/models/model_config.hpp"

namespace lockstep {

/// The mesh of a scenario: ranks = dp * pp * cp * tp in the configured order, split into sub-axes
/// that the other groups need. Axes in addition to dp, pp, cp and tp:
///   dp_cp       replicas of a weight that is not an expert's
///   outer       those that train apart (DiLoCo): the outermost part of dp
///   etp, ep, edp   each expert is sharded along etp, the innermost part of tp; experts are
///                  distributed along ep, the innermost part of the rest of tp and dp_cp, and
///                  replicated along edp, so that etp * ep * edp = tp * cp * dp (parallel folding,
///                  Liu et al., arXiv 2504.14960)
///   copies      the two copies of a stage of a bidirectional pipeline: the outer of the two
///               sub-axes of pp; the inner one is mirrored (sim/program/mesh.hpp), so that rank
///               order is the order of stages
///   shard       ZeRO shards along this innermost part of dp_cp and copies, without outer
///   replicate   the rest of dp_cp and copies, without outer
///   ulysses, ring              the two levels of cp
///   tp_kv, ulysses_kv          the part that shards KV heads if there are fewer of them than
///                              ranks, which hold replicas along the rest
/// `kv_heads` 0: no attention. Requires no mesh_problem(); InternalError otherwise.
[[nodiscard]] Mesh device_mesh(const ParallelConfig& parallel, std::int64_t kv_heads,
                               int gpus_per_node);

/// Why this mesh is impossible; none if it is possible.
[[nodiscard]] std::optional<std::string> mesh_problem(const ParallelConfig& parallel,
                                                      std::int64_t kv_heads, int gpus_per_node);

/// Ranks of cp that share an all-to-all: all, none, or with cp_kind `both` the configured number.
[[nodiscard]] int ulysses_degree(const ParallelConfig& parallel, int gpus_per_node);

}  // namespace lockstep
