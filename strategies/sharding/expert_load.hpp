#pragma once

#include "sim/program/mesh.hpp"
#include "strategies/layout/parallel_config.hpp"
#include "strategies/models/model_config.hpp"
#include "strategies/models/model_graph.hpp"

namespace lockstep {

/// How many tokens come to experts, over the mean of all E of them.
class ExpertLoad {
 public:
  /// One expert has `skew` times the mean (1 <= skew <= E), the others share the rest evenly; none
  /// takes more than `capacity` times the mean (0: whatever comes).
  ExpertLoad(std::int64_t experts, double skew, double capacity);

  /// Mean over `local` experts, 1 .. E, the busiest among them: (busiest + (local - 1) other) /
  /// local. Of all E: 1, where none drops any.
  [[nodiscard]] double of(std::int64_t local) const;

 private:
  double busiest_ = 1;
  double other_ = 1;
};

/// Where ParallelConfig::expert_skew is given: gives every rank the slots of the rank with the
/// busiest expert. What experts on a rank take in (Dim::slot of tensors whose experts are cut) is
/// as many times as long as that rank is loaded: their products, the messages that bring it, the
/// memory that holds it. Tokens on the rank that they come from are as many as ever. The products
/// are marked with that load over the mean rank's (Operation::factor). After propagate_sharding().
void load_experts(ModelGraph& graph, const Mesh& mesh, const ParallelConfig& parallel,
                  const TransformerConfig& model);

}  // namespace lockstep
