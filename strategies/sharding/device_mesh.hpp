#pragma once

#include <optional>
#include <string>

#include "sim/program/mesh.hpp"
#include "strategies/layout/parallel_config.hpp"
#include "strategies/models/model_config.hpp"

namespace lockstep {

/// The mesh of a scenario: ranks = dp * pp * cp * tp in the order that it states, cut into atoms
/// where other groups ask for it. Axes in addition to dp, pp, cp and tp:
///   dp_cp       replicas of a weight that is not an expert's
///   ep, edp     experts are cut along ep = the innermost part of dp_cp; edp is the rest of it
///   shard       ZeRO cuts along this innermost part of dp_cp; replicate is the rest
///   ulysses, ring              the two levels of cp
///   tp_kv, ulysses_kv          the part that cuts keys and values where there are fewer of their
///                              heads than parts; along the rest they are replicated
/// `kv_heads` 0: no attention. Errors: InternalError where mesh_problem() has something.
[[nodiscard]] Mesh device_mesh(const ParallelConfig& parallel, std::int64_t kv_heads,
                               int gpus_per_node);

/// Why there is no such mesh.
[[nodiscard]] std::optional<std::string> mesh_problem(const ParallelConfig& parallel,
                                                      std::int64_t kv_heads, int gpus_per_node);

/// Ranks of cp in one all-to-all: all, none, or the part that cp_kind `both` says.
[[nodiscard]] int ulysses_degree(const ParallelConfig& parallel, int gpus_per_node);

}  // namespace lockstep
