#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "strategies/layout/parallel_config.hpp"
#include "strategies/models/model_config.hpp"
#include "strategies/step/bound/block_shapes.hpp"
#include "strategies/step/bound/made_once.hpp"
#include "strategies/step/bound/operation_bounds.hpp"

namespace lockstep {

/// The blocks of a model under one sharding, with the placement of the groups within layers.
struct BlockCosts {
  std::vector<PositionCosts> kinds{};  // per kind of block
  std::vector<int> chain{};            // per position: index into `kinds`
  /// Per kind: prefix counts over positions (one more entry than positions).
  std::vector<std::vector<std::int32_t>> before{};
  std::optional<int> between_stacks{};  // position of an encoder's end
  StateBytes tied{};                    // of weights tied to the last position
  std::int64_t residual = 0;            // minimum bytes sent from stage to stage

  [[nodiscard]] const PositionCosts& at(std::size_t position) const {
    return kinds[static_cast<std::size_t>(chain[position])];
  }
  /// Sum over positions [first, last).
  [[nodiscard]] PositionCosts sum(std::size_t first, std::size_t last) const;
};

/// A profile with the placement of stages and replicas.
struct PlacedProfile {
  std::shared_ptr<const BlockCosts> blocks;
  MessageBound message{};    // between stages
  bool sends_apart = false;  // on streams of their own, whatever overlaps
  /// Upper bound on a rank's bandwidth to others of its data-parallel group, bytes/s; 0: unknown.
  double dense_rate = 0;
  double expert_rate = 0;
};

/// Thread-safe cache of the parts of profiles, for layouts of one model on one cluster.
struct ProfileCache {
  MadeOnce<BlockShapes> shapes{};
  MadeOnce<std::shared_ptr<const BlockCosts>> blocks{};
  MadeOnce<PlacedProfile> placed{};
  MadeOnce<double> rates{};
};

/// Profiles of layouts of one model, cached; not thread-safe.
class BlockProfiles {
 public:
  /// The arguments must outlive this object. `cache`: of the same model, costs and cluster.
  BlockProfiles(const ModelConfig& model, const CostModel& cost, OperationBounds& operations,
                std::shared_ptr<ProfileCache> cache)
      : model_{model}, cost_{cost}, operations_{operations}, cache_{std::move(cache)} {}

  [[nodiscard]] const PlacedProfile& of(const ParallelConfig& parallel);

 private:
  [[nodiscard]] PlacedProfile make(const ParallelConfig& parallel);
  [[nodiscard]] BlockCosts costs_of(const BlockShapes& shapes, const Mesh& mesh);
  [[nodiscard]] double rate_of(const std::vector<int>& members);
  /// Maximum over several groups; 0 if one is unknown.
  [[nodiscard]] double rate_of(const std::vector<std::vector<int>>& groups);

  const ModelConfig& model_;
  const CostModel& cost_;
  OperationBounds& operations_;
  std::shared_ptr<ProfileCache> cache_;
};

/// The part of a layout that its profile depends on; excludes the number of microbatches, model
/// chunks and their order.
[[nodiscard]] fold::Key placed_key(const ParallelConfig& parallel);

}  // namespace lockstep
