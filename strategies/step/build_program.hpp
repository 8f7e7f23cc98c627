#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/program/program.hpp"
#include "strategies/layout/parallel_config.hpp"
#include "strategies/models/model_config.hpp"

namespace lockstep {

/// What a weight of a block is on a rank, before ZeRO shards it.
struct BlockWeight {
  std::int64_t elements = 0;
  std::int64_t weight_bytes = 0;    // of all elements
  std::int64_t gradient_bytes = 0;  // of all elements
  std::int64_t state_bytes = 0;     // optimizer states on the device, of all elements
  /// Whether the gradient is reduced over fewer than dp * cp ranks: an expert weight under ep.
  bool of_experts = false;
  bool shared = false;  // with another position
};

/// A kind of block of the chain in a program.
struct BlockOfProgram {
  RoutineId forward = 0;
  RoutineId backward = 0;
  std::optional<RoutineId> weight_gradients{};  // where backward is split
  std::optional<TensorId> input{};              // as Block has them
  std::optional<TensorId> output{};
  std::optional<TensorId> input_gradient{};
  std::optional<TensorId> output_gradient{};
  std::vector<BlockWeight> weights{};  // that it lists, and of the last block the shared ones too
};

/// A program and the blocks that it is made of.
struct ProgramOfBlocks {
  Program program;
  std::vector<BlockOfProgram> blocks{};  // the kinds
  std::vector<int> chain{};              // per position: index into blocks
  std::optional<int> between_stacks{};   // position of an encoder's end
};
struct BuildProgramOptions {
  bool ends_with_average = true;  // parameter averaging: of average_every steps the last
  int fragment = 0;               // DiLoCo: synchronized in this step, if it ends with an average
  /// Check the conditions of every pass on the step itself (run_passes.hpp), as debug builds do.
  bool checks_passes = false;
};

[[nodiscard]] ProgramOfBlocks build_blocks(const ModelConfig& model, const ParallelConfig& parallel,
                                           int gpus_per_node,
                                           const BuildProgramOptions& options = {});

/// One training step of all ranks, as a program with one role for each kind of rank.
/// Requires a layout without layout_problems() (scenario/parallel/layout_problems.hpp);
/// InternalError otherwise.
[[nodiscard]] Program build_program(const ModelConfig& model, const ParallelConfig& parallel,
                                    int gpus_per_node, const BuildProgramOptions& options = {});

/// The forward passes of a step alone, in its order, with the messages between stages and the
/// gathers of sharded weights: an evaluation of one global batch. Requires as build_program().
[[nodiscard]] Program build_forward_program(const ModelConfig& model,
                                            const ParallelConfig& parallel, int gpus_per_node);

/// Bytes of all trained weights, each once, in the precision in which a step keeps it: of
/// `state.weights` in at most 8 bits only those of GEMMs are that narrow, with their scales.
[[nodiscard]] Bytes weight_bytes(const ModelConfig& model, const ParallelConfig& parallel);

}  // namespace lockstep
