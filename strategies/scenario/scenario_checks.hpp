#pragma once

#include "sim/config/reader.hpp"
#include "strategies/scenario/scenario.hpp"

namespace lockstep {

/// The parts of a scenario, each valid individually.
struct ScenarioParts {
  const ScenarioCluster& cluster;
  const ModelConfig& model;
  const ParallelConfig& parallel;
  std::optional<FlopRate> sustained{};  // the rate of all GEMMs, if given
};

/// Reports impossible combinations at the key at fault: GEMM precisions the GPU lacks, rates above
/// its peak, steps too large to build, layout_problems(), and refused values_without_effect().
/// Returns values that have no effect but are accepted. `in`: the scenario.
[[nodiscard]] std::vector<ScenarioNote> check_together(ObjectReader& in,
                                                       const ScenarioParts& parts);

}  // namespace lockstep
