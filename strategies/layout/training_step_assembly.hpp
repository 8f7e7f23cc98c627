#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sim/program/program.hpp"
#include "strategies/layout/parallel_config.hpp"
#include "strategies/models/model_graph.hpp"

/// A training step under construction. After propagate_sharding(), passes order the blocks'
/// routines into one script per stage and add gradient reduction, optimizer and casts.
namespace lockstep {

enum class Work : std::uint8_t { forward, backward, weight_gradient, other };

struct ScriptCall {
  Work work = Work::other;
  Call call{};
};

/// Calls of one pipeline stage, in order.
struct StageScript {
  std::size_t role = 0;
  std::vector<ScriptCall> calls{};
};

/// A weight with its gradient and optimizer tensors. Ranks along `over` hold partial sums of the
/// gradient; so do ranks along `within`, which process the same samples (norms under sequence
/// parallelism). ZeRO shards along `shard`, the innermost part of `over`.
struct TrainedWeight {
  TensorId weight = 0;    // as the model reads it
  TensorId gradient = 0;  // as backward writes it
  MeshSubAxes over{};
  MeshSubAxes within{};
  MeshSubAxes shard{};
  MeshSubAxes replicate{};  // `over` without `shard`
  TensorId summed{};        // the reduced gradient, or the rank's shard of it
  TensorId share{};         // what the optimizer reads: `summed`, or a shard sliced from it
  TensorId kept{};          // what the optimizer writes: the weight, or its shard
  std::vector<TensorId> states{};
};

struct TrainingStepAssembly {
  const ParallelConfig& parallel;
  ModelGraph& graph;
  Program& program;  // shares its tensors with the graph until assembly is complete
  /// Routines of each block of the graph; weight_gradients only if backward is split.
  struct BlockRoutines {
    RoutineId forward = 0;
    RoutineId backward = 0;
    RoutineId weight_gradients = 0;
  };
  std::vector<BlockRoutines> routines{};
  std::vector<std::vector<TrainedWeight>> weights{};  // per block
  std::map<TensorId, TensorId> backward_weights{};  // ZeRO-3: the copy that backward reads instead
  std::vector<StageScript> stages{};
  /// Range of positions [first, second) of each chunk; chunk c runs on stage c % pp.
  std::vector<std::pair<int, int>> chunks{};

  [[nodiscard]] const Block& block(int position) const {
    return graph.blocks[static_cast<std::size_t>(graph.chain[static_cast<std::size_t>(position)])];
  }
  [[nodiscard]] const std::vector<TrainedWeight>& weights_at(int position) const {
    return weights[static_cast<std::size_t>(graph.chain[static_cast<std::size_t>(position)])];
  }
  [[nodiscard]] int stage_of(int position) const;
  /// Weights trained at a position. A shared weight is listed only at its first position on a
  /// stage.
  [[nodiscard]] std::vector<TrainedWeight> trained_at(int position) const;
  /// Reference to a tensor of `weight` as seen from `position`.
  [[nodiscard]] Ref at(TensorId tensor, const TrainedWeight& weight, int position) const;
};

/// Splits the model into chunks: as `stages` specifies, else equally, with one layer fewer in the
/// first and last chunk under short_edges. Embedding and head belong to the first and last chunk.
[[nodiscard]] std::vector<std::pair<int, int>> chunk_positions(const ModelGraph& graph,
                                                               const ParallelConfig& parallel);

/// Adds forward and backward calls to every stage in the order of the schedule, with sends and
/// receives between stages.
void order_pipeline(TrainingStepAssembly& step);

/// Lists the trained weights of every block; ZeRO-2 shards gradients, ZeRO-3 also weights. Must run
/// before routines are made.
void find_trained_weights(TrainingStepAssembly& step);

/// ZeRO-3, FSDP: frees gathered weights after forward; backward reads a second gathered copy. Must
/// run before routines are made.
void reshard_after_forward(TrainingStepAssembly& step);
/// ZeRO-3, FSDP: all-gathers every block's weights before forward and before backward.
void gather_weights(TrainingStepAssembly& step);

/// With Fp8Casts::weights_once and weights gathered per microbatch: the first GEMM that reads a
/// gathered weight casts it. Must run before routines are made.
void cast_gathered_weights(TrainingStepAssembly& step);
/// Casts all other weights to fp8 once per step, before a block's first microbatch.
void cast_weights(TrainingStepAssembly& step);

/// Reduces gradients over data-parallel replicas by all-reduce, or reduce-scatter with ZeRO: in
/// buckets after the last microbatch, or block by block (ZeRO-2, 3) after every microbatch or the
/// last.
void exchange_gradients(TrainingStepAssembly& step);
/// Reduces the remaining gradients: of tied embeddings, and of norms under sequence parallelism.
void finish_gradients(TrainingStepAssembly& step);
/// Updates the weights, on the device or on the host, and all-gathers those updated in shards.
/// Unless updates go by bucket, each waits for everything launched before it.
void update_weights(TrainingStepAssembly& step);

/// Replaces the three passes above: every parameter server reduces its share of the gradients,
/// updates its share of the weights and sends them back.
void train_on_servers(TrainingStepAssembly& step);
/// Replaces exchange_gradients(): a host reduces all gradients and sends the sum back.
void average_on_host(TrainingStepAssembly& step);
/// Replaces exchange_gradients() and every other gradient reduction: replicas train independently,
/// and their weights are averaged at the end of the step.
void scale_for_averaging(TrainingStepAssembly& step);
void average_weights(TrainingStepAssembly& step);

/// Positions of a stage in the order in which their last backward pass ends, each with the index of
/// the call that ends it.
[[nodiscard]] std::vector<std::pair<int, std::size_t>> finished_positions(const StageScript& stage);
/// Groups weights by one of their sets of sub-axes.
[[nodiscard]] std::vector<std::pair<MeshSubAxes, std::vector<TrainedWeight>>> grouped(
    const std::vector<TrainedWeight>& weights, MeshSubAxes TrainedWeight::*by);
/// One collective over `over` on tensors of several weights, as a single message.
[[nodiscard]] Operation collective_of(const TrainingStepAssembly& step, Collective collective,
                                      const MeshSubAxes& over, std::string name);

/// The stream of a group's traffic if `overlap` names it, else the compute stream.
[[nodiscard]] StreamId stream_of(const TrainingStepAssembly& step, std::string_view group,
                                 bool hides);
/// Assigns the communication inside the model's routines to the streams that `overlap` allows;
/// gathers for weight gradients are launched ahead of the GEMMs next to which they travel.
void assign_streams(Program& program, const ParallelConfig& parallel);

}  // namespace lockstep
