#pragma once

#include "sim/config/reader.hpp"
#include "strategies/scenario/scenario.hpp"

namespace lockstep {

/// What a scenario asks for, each part right in itself.
struct ScenarioParts {
  const ScenarioCluster& cluster;
  const ModelConfig& model;
  const ParallelConfig& parallel;
  std::optional<FlopRate> sustained{};  // one rate stands for all products
};

/// Notes what cannot be together, at the key that is to blame: products that the GPU has not, rates
/// above its peak, steps too large to be written out, layout_problems(), and
/// values that ask for what the layout does not do (without_effect.hpp). Returns what changes
/// nothing but may stay. `in`: the scenario.
[[nodiscard]] std::vector<ScenarioNote> check_together(ObjectReader& in,
                                                       const ScenarioParts& parts);

}  // namespace lockstep
