#pragma once

#include <string>
#include <vector>

#include "sim/program/program.hpp"
#include "strategies/layout/parallel_config.hpp"
#include "strategies/models/model_config.hpp"

namespace lockstep {

/// A value of a scenario, other than its default, that changes nothing.
struct WithoutEffect {
  std::string key;      // "parallel.zigzag"
  std::string message;  // one sentence: the value, and what it would need
  /// It asks how something is done that the layout does not do, and is refused. Others allow what
  /// may happen (traffic to hide) or say how several axes go together, and stay where an axis is
  /// taken down to 1: they are reported.
  bool refused = false;
};

/// Such values of a layout that is possible (layout_problems() is empty).
[[nodiscard]] std::vector<WithoutEffect> values_without_effect(const ModelConfig& model,
                                                               const ParallelConfig& parallel,
                                                               int gpus_per_node);

/// Such values of a model ("model.window.size").
[[nodiscard]] std::vector<WithoutEffect> model_values_without_effect(const ModelConfig& model);

/// Algorithms for groups that the program has no collective of, and for collectives that have no
/// algorithm of that name: refused where that leaves nothing of the group, but for what goes
/// through hosts.
[[nodiscard]] std::vector<WithoutEffect> algorithms_without_effect(const Program& program,
                                                                   const ParallelConfig& parallel);

}  // namespace lockstep
