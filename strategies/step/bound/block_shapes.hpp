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
#include "strategies/sharding/experts/unequal_experts.hpp"
#include "strategies/step/bound/call_chain.hpp"
#include "strategies/step/build_program.hpp"

namespace lockstep {

/// Bytes on a rank, before ZeRO shards them.
struct StateBytes {
  std::int64_t weights = 0;
  std::int64_t gradients = 0;
  std::int64_t states = 0;  // optimizer states on the device
  std::int64_t outer = 0;   // what an outer loop would keep (DiLoCo): two fp32 numbers per element

  StateBytes() = default;
  explicit StateBytes(const BlockWeight& of);
  void add(const StateBytes& other, std::int64_t times) {
    weights += other.weights * times;
    gradients += other.gradients * times;
    states += other.states * times;
    outer += other.outer * times;
  }
};

/// Lower bounds on the costs of one microbatch (picoseconds, bytes) at one position, or summed over
/// all earlier positions.
struct PositionCosts {
  CallTimes forward{};
  CallTimes backward{};               // whole, or of input gradients only if split
  std::int64_t weight_gradients = 0;  // if they have calls of their own
  std::int64_t host = 0;              // launch time on the host
  std::int64_t update = 0;            // once per step, for unsharded weights
  std::int64_t kept = 0;              // bytes held from forward to backward
  StateBytes dense{};
  StateBytes experts{};

  /// Adds `times` positions equal to another.
  void add(const PositionCosts& other, std::int64_t times);
};

/// A collective of a routine.
struct ShapedCollective {
  std::size_t operation = 0;  // index in the routine
  Communication how;
  std::string axis;  // mesh axis
  int ranks = 0;
  Bytes message;
  std::optional<TokenSkew> skew{};
};

/// A call with the times of its kernels. Times of its collectives depend on the placement of ranks.
struct ShapedCall {
  CallChain chain;
  std::vector<std::int64_t> times{};  // per operation, picoseconds; 0 for collectives
  std::vector<ShapedCollective> collectives{};
};

/// A kind of block.
struct ShapedBlock {
  ShapedCall forward;
  ShapedCall backward;
  std::optional<ShapedCall> weight_gradients{};  // if they have calls of their own
  PositionCosts fixed{};                         // costs outside calls
};

/// The blocks of a model under one sharding, independent of placement.
struct BlockShapes {
  std::vector<ShapedBlock> kinds{};
  std::vector<int> chain{};             // per position: index into `kinds`
  std::optional<int> between_stacks{};  // position of an encoder's end
  StateBytes tied{};                    // of weights tied to the last position
  std::int64_t residual = 0;            // minimum bytes sent from stage to stage
};

[[nodiscard]] BlockShapes block_shapes(const ModelConfig& model, const ParallelConfig& parallel,
                                       int gpus_per_node, const CostModel& cost);

/// Key of the part of a layout on which block_shapes() depends.
[[nodiscard]] fold::Key shape_key(const ParallelConfig& parallel);

}  // namespace lockstep
