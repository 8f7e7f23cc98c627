#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/cost/cost_model.hpp"
#include "sim/program/program.hpp"
#include "sim/reuse/key.hpp"
#include "strategies/layout/parallel_config.hpp"
#include "strategies/models/model_config.hpp"
#include "strategies/step/bound/call_chain.hpp"

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

/// A collective of a routine.
struct ShapedCollective {
  std::size_t operation = 0;  // place in the routine
  Communication how;
  std::string axis;  // of the mesh
  int ranks = 0;
  Bytes message;
};

/// A call with the times of its kernels. How long its collectives take depends on where ranks sit.
struct ShapedCall {
  CallChain chain;
  std::vector<std::int64_t> times{};  // of operations, picoseconds; 0: collectives
  std::vector<ShapedCollective> collectives{};
};

/// A kind of block.
struct ShapedBlock {
  ShapedCall forward;
  ShapedCall backward;
  std::optional<ShapedCall> weight_gradients{};  // where backward is split
  PositionCosts fixed{};                         // without the times of calls
};

/// The blocks of a model under one way to shard them, wherever ranks sit.
struct BlockShapes {
  std::vector<ShapedBlock> kinds{};
  std::vector<int> chain{};   // per position: index into `kinds`
  StateBytes tied{};          // of weights that the last position shares with another
  std::int64_t residual = 0;  // bytes that a stage sends to the next at most
};

[[nodiscard]] BlockShapes block_shapes(const ModelConfig& model, const ParallelConfig& parallel,
                                       int gpus_per_node, const CostModel& cost);

/// Key of everything in a layout on which block_shapes() depends.
[[nodiscard]] fold::Key shape_key(const ParallelConfig& parallel);

}  // namespace lockstep
