#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "strategies/layout/parallel_config.hpp"
#include "strategies/models/model_config.hpp"
#include "strategies/step/bound/block_shapes.hpp"
#include "strategies/step/bound/made_once.hpp"
#include "strategies/step/bound/operation_bounds.hpp"

namespace lockstep {

/// The blocks of a model under one way to shard them, where the groups within layers sit.
struct BlockCosts {
  std::vector<PositionCosts> kinds{};  // of each kind of block
  std::vector<int> chain{};            // per position: index into `kinds`
  /// Per kind: how many of the positions before are of it; one entry more than positions.
  std::vector<std::vector<std::int32_t>> before{};
  StateBytes tied{};          // of weights that the last position shares with another
  std::int64_t residual = 0;  // bytes that a stage sends to the next at most

  [[nodiscard]] const PositionCosts& at(std::size_t position) const {
    return kinds[static_cast<std::size_t>(chain[position])];
  }
  /// Of the positions from `first` to one before `last`.
  [[nodiscard]] PositionCosts sum(std::size_t first, std::size_t last) const;
};

/// The same with what depends on where stages and replicas sit.
struct PlacedProfile {
  std::shared_ptr<const BlockCosts> blocks;
  MessageBound message{};  // between stages
  /// Bytes per second that leave a rank at most for others of its data-parallel group; 0: no limit
  /// is known.
  double dense_rate = 0;
  double expert_rate = 0;
};

/// What profiles of layouts of one model on one cluster are made of, for many threads.
struct ProfileCache {
  MadeOnce<BlockShapes> shapes{};
  MadeOnce<std::shared_ptr<const BlockCosts>> blocks{};
  MadeOnce<PlacedProfile> placed{};
  MadeOnce<double> rates{};
};

/// Profiles of layouts of one model, each made once; for one thread.
class BlockProfiles {
 public:
  /// All must outlive it. `cache`: of the same model, costs and cluster.
  BlockProfiles(const ModelConfig& model, const CostModel& cost, OperationBounds& operations,
                std::shared_ptr<ProfileCache> cache)
      : model_{model}, cost_{cost}, operations_{operations}, cache_{std::move(cache)} {}

  [[nodiscard]] const PlacedProfile& of(const ParallelConfig& parallel);

 private:
  [[nodiscard]] PlacedProfile make(const ParallelConfig& parallel);
  [[nodiscard]] BlockCosts costs_of(const BlockShapes& shapes, const Mesh& mesh);
  [[nodiscard]] double rate_of(const std::vector<int>& members);
  /// The most of several groups; 0 where one has no limit that is known.
  [[nodiscard]] double rate_of(const std::vector<std::vector<int>>& groups);

  const ModelConfig& model_;
  const CostModel& cost_;
  OperationBounds& operations_;
  std::shared_ptr<ProfileCache> cache_;
};

/// All of a layout that its profile depends on: neither the number of microbatches, the model
/// chunks nor their order.
[[nodiscard]] fold::Key placed_key(const ParallelConfig& parallel);

}  // namespace lockstep
