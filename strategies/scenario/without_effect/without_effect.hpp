#pragma once

#include <set>
#include <string>
#include <vector>

#include "sim/program/program.hpp"
#include "strategies/layout/parallel_config.hpp"
#include "strategies/models/model_config.hpp"

namespace lockstep {

/// A scenario value that differs from its default and has no effect.
struct WithoutEffect {
  std::string key;      // "parallel.zigzag"
  std::string message;  // one sentence: the value, and what it would require
  /// Refused: it configures a mechanism that the layout does not use. Reported only: permissions
  /// (overlap) and axis orders, which stay valid when a degree is reduced to 1.
  bool refused = false;
};

/// Whether some layer has a plain MLP instead of experts.
[[nodiscard]] bool has_plain_mlp(const ModelConfig& model);

/// Values without effect in a possible layout (layout_problems() is empty).
[[nodiscard]] std::vector<WithoutEffect> values_without_effect(const ModelConfig& model,
                                                               const ParallelConfig& parallel,
                                                               int gpus_per_node);

/// The kinds of traffic of which `parallel` has some that may hide.
[[nodiscard]] std::set<Overlap> kinds_with_effect(const std::set<Overlap>& kinds,
                                                  const ModelConfig& model, ParallelConfig parallel,
                                                  int gpus_per_node);

/// Values without effect in a model ("model.window.size").
[[nodiscard]] std::vector<WithoutEffect> model_values_without_effect(const ModelConfig& model);

/// Traffic weights of groups that send nothing in the program, and weights that are all equal.
[[nodiscard]] std::vector<WithoutEffect> traffic_weights_without_effect(
    const Program& program, const ParallelConfig& parallel);

/// Algorithms for groups without a collective in the program, and for collectives that lack an
/// algorithm of that name. Refused if no collective of the group uses it, except for traffic
/// through hosts.
[[nodiscard]] std::vector<WithoutEffect> algorithms_without_effect(const Program& program,
                                                                   const ParallelConfig& parallel);

/// Symmetric windows of groups with communicators over several nodes, where NCCL's kernels for them
/// are not modeled.
[[nodiscard]] std::vector<WithoutEffect> windows_without_effect(const Program& program,
                                                                const ParallelConfig& parallel,
                                                                int gpus_per_node);

}  // namespace lockstep
