#pragma once

#include "strategies/training/scenario.hpp"
#include "topologies/config/reader.hpp"

namespace lockstep {

/// What a scenario asks for, each part right in itself.
struct WholePlan {
  const ScenarioCluster& cluster;
  const ModelConfig& model;
  const ParallelConfig& parallel;
  bool sustained = false;  // one rate stands for all products
};

/// Notes what cannot be together, at the key that is to blame: products that the GPU has not, steps
/// too long to be written out, and plan_problems() (build_program.hpp). `in`: the scenario.
void check_together(ObjectReader& in, const WholePlan& plan);

}  // namespace lockstep
