#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "strategies/layout/parallel_config.hpp"
#include "strategies/models/model_config.hpp"
#include "strategies/step/bound/operation_bounds.hpp"
#include "strategies/step/bound/routine_bound.hpp"
#include "strategies/step/build_program.hpp"

namespace lockstep {

/// Bytes on a rank, before ZeRO shards them.
struct StateBytes {
  std::int64_t weights = 0;
  std::int64_t gradients = 0;
  std::int64_t states = 0;  // of the optimizer, on the device

  void add(const StateBytes& other, std::int64_t times) {
    weights += other.weights * times;
    gradients += other.gradients * times;
    states += other.states * times;
  }
};

/// What one call takes at least (picoseconds), by where it begins and ends.
struct CallTimes {
  std::int64_t path = 0;  // from when the compute stream is free until it is free again
  std::int64_t through =
      0;  // from the residual stream (or its gradient) coming in to its going out
  std::int64_t until_out = 0;  // from when the compute stream is free until it goes out
  std::int64_t from_in = 0;    // from its coming in until the compute stream is free again

  void add(const CallTimes& other, std::int64_t times);
  /// Of the path, what need not wait for what comes in; what may follow what goes out.
  [[nodiscard]] std::int64_t before_in() const {
    return std::max(path - from_in, until_out - through);
  }
  [[nodiscard]] std::int64_t after_out() const {
    return std::max(path - until_out, from_in - through);
  }
};

/// What one microbatch costs at one position at least (picoseconds and bytes), or at all positions
/// before it.
struct PositionCosts {
  CallTimes forward{};
  CallTimes backward{};               // both halves, or that of input gradients
  std::int64_t weight_gradients = 0;  // the other half where backward is split
  std::int64_t host = 0;              // to launch all of these
  std::int64_t update = 0;            // once a step, of unsharded weights
  std::int64_t kept = 0;              // bytes from forward to backward
  StateBytes dense{};
  StateBytes experts{};

  /// Adds `times` positions like another.
  void add(const PositionCosts& other, std::int64_t times);
};

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

/// Profiles of layouts of one model, each made once.
class BlockProfiles {
 public:
  BlockProfiles(const ModelConfig& model, const CostModel& cost, OperationBounds& operations)
      : model_{model}, cost_{cost}, operations_{operations} {}

  [[nodiscard]] const PlacedProfile& of(const ParallelConfig& parallel);
  [[nodiscard]] const ModelConfig& model() const { return model_; }
  [[nodiscard]] const Cluster& cluster() const { return operations_.cluster(); }
  [[nodiscard]] std::size_t size() const { return placed_.size(); }

 private:
  [[nodiscard]] PlacedProfile make(const ParallelConfig& parallel);
  [[nodiscard]] BlockCosts costs_of(const ParallelConfig& parallel, const Mesh& mesh);
  [[nodiscard]] double rate_of(const std::vector<int>& members);

  const ModelConfig& model_;
  const CostModel& cost_;
  OperationBounds& operations_;
  std::map<fold::Key, std::shared_ptr<const BlockCosts>> blocks_;
  std::map<fold::Key, PlacedProfile> placed_;
  std::map<fold::Key, double> rates_;
};

/// All of a layout that its profile depends on, and what of it the shapes of its operations depend
/// on: neither has the number of microbatches, the model chunks or their order.
[[nodiscard]] fold::Key placed_key(const ParallelConfig& parallel);
[[nodiscard]] fold::Key shape_key(const ParallelConfig& parallel);

}  // namespace lockstep
