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
#include "strategies/step/build_program.hpp"
#include "strategies/step/bound/routine_bound.hpp"

namespace lockstep {

/// Bytes on a rank, before ZeRO shards them.
struct StateBytes {
  std::int64_t weights = 0;
  std::int64_t gradients = 0;
  std::int64_t states = 0;  // of the optimizer, on the device

  StateBytes& operator+=(const StateBytes& other) {
    weights += other.weights;
    gradients += other.gradients;
    states += other.states;
    return *this;
  }
  friend StateBytes operator-(StateBytes a, const StateBytes& b) {
    return {a.weights - b.weights, a.gradients - b.gradients, a.states - b.states};
  }
};

/// What one call takes at least (picoseconds), by where it begins and ends.
struct CallTimes {
  std::int64_t path = 0;     // from when the compute stream is free until it is free again
  std::int64_t through = 0;  // from the residual stream (or its gradient) coming in to its going out
  std::int64_t until_out = 0;  // from when the compute stream is free until it goes out
  std::int64_t from_in = 0;    // from its coming in until the compute stream is free again

  CallTimes& operator+=(const CallTimes& other);
  friend CallTimes operator-(CallTimes a, const CallTimes& b);
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

  PositionCosts& operator+=(const PositionCosts& other);
  friend PositionCosts operator-(PositionCosts a, const PositionCosts& b);
};

/// The blocks of a model under one way to shard them, where their groups sit.
struct PlacedProfile {
  std::vector<PositionCosts> at{};      // by position
  std::vector<PositionCosts> before{};  // sums over the positions before; one more than `at`
  StateBytes tied{};                    // of weights that the last position shares with another
  MessageBound message{};               // between stages
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
  [[nodiscard]] const ProgramOfBlocks& blocks(const ParallelConfig& parallel);
  [[nodiscard]] PlacedProfile make(const ParallelConfig& parallel);
  [[nodiscard]] double rate_of(const std::vector<int>& members);

  const ModelConfig& model_;
  const CostModel& cost_;
  OperationBounds& operations_;
  std::map<fold::Key, ProgramOfBlocks> blocks_;
  std::map<fold::Key, PlacedProfile> placed_;
  std::map<fold::Key, double> rates_;
};

/// All of a layout that its profile depends on, and what of it the shapes of its operations depend
/// on: neither has the number of microbatches, the model chunks or their order.
[[nodiscard]] fold::Key placed_key(const ParallelConfig& parallel);
[[nodiscard]] fold::Key shape_key(const ParallelConfig& parallel);

}  // namespace lockstep
