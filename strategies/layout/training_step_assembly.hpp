#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sim/program/program.hpp"
#include "strategies/layout/parallel_config.hpp"
#include "strategies/models/model_graph.hpp"

/// A training step while it is put together: the passes that follow propagate_sharding() order the
/// blocks' routines into roles and add what belongs to no block.
namespace lockstep {

enum class Work : std::uint8_t { forward, backward, weight_gradient, other };

struct ScriptCall {
  Work work = Work::other;
  Call call{};
};

/// One pipeline stage.
struct StageScript {
  std::size_t role = 0;
  std::vector<ScriptCall> calls{};
};

/// A weight and what trains it. Ranks along `over` have summands of its gradient; along `within`
/// too, but hold the same samples (norms under sequence parallelism). ZeRO cuts along `shard`, the
/// inner part of `over`.
struct TrainedWeight {
  TensorId weight = 0;    // what the model reads
  TensorId gradient = 0;  // what backward writes
  MeshSubAxes over{};
  MeshSubAxes within{};
  MeshSubAxes shard{};
  MeshSubAxes replicate{};  // over without shard
  TensorId summed{};  // the gradient (or the rank's shard of it) that is summed over all ranks
  TensorId share{};   // what the optimizer reads of it: all of `summed`, or a shard cut from it
  TensorId kept{};    // the weight (or shard) that the optimizer writes
  std::vector<TensorId> states{};
};

struct TrainingStepAssembly {
  const ParallelConfig& parallel;
  ModelGraph& graph;
  Program& program;  // its tensors are the graph's until all is done
  /// Per block of the graph: its routines; weight_gradients only where backward is split.
  struct BlockRoutines {
    RoutineId forward = 0;
    RoutineId backward = 0;
    RoutineId weight_gradients = 0;
  };
  std::vector<BlockRoutines> routines{};
  std::vector<std::vector<TrainedWeight>> weights{};  // per block
  std::map<TensorId, TensorId> backward_weights{};    // ZeRO-3: what backward reads instead
  std::vector<StageScript> stages{};
  /// Positions of the chain, first and one past the last, per chunk; chunk c is on stage c % pp.
  std::vector<std::pair<int, int>> chunks{};

  [[nodiscard]] const Block& block(int position) const {
    return graph.blocks[static_cast<std::size_t>(graph.chain[static_cast<std::size_t>(position)])];
  }
  [[nodiscard]] const std::vector<TrainedWeight>& weights_at(int position) const {
    return weights[static_cast<std::size_t>(graph.chain[static_cast<std::size_t>(position)])];
  }
  [[nodiscard]] int stage_of(int position) const;
  /// The weights that are trained at a position: a shared weight only at the first of its positions
  /// that the same stage has.
  [[nodiscard]] std::vector<TrainedWeight> trained_at(int position) const;
  /// The position under which a weight's tensors stand when asked for at `position`.
  [[nodiscard]] Ref at(TensorId tensor, const TrainedWeight& weight, int position) const;
};

/// Cuts the chain into chunks: as `stages` says, else equally, with one layer fewer in the first
/// and the last where short_edges says so. Embedding and head go with the first and the last layer.
[[nodiscard]] std::vector<std::pair<int, int>> chunk_positions(const ModelGraph& graph,
                                                               const ParallelConfig& parallel);

/// Orders every stage's forward and backward calls, with sends and receives between stages.
void order_pipeline(TrainingStepAssembly& step);

/// Finds for every block what trains its weights; for ZeRO it changes how gradients (2) and weights
/// (3) are kept. Before routines are made.
void find_trained_weights(TrainingStepAssembly& step);

/// ZeRO-3, FSDP: where weights are given up after forward, backward reads others that are gathered
/// again. Before routines are made.
void reshard_after_forward(TrainingStepAssembly& step);
/// ZeRO-3, FSDP: gathers every block's weights before forward and before backward.
void gather_weights(TrainingStepAssembly& step);

/// Where weights are cast to 8 bits once (Fp8Casts::weights_once), but are gathered again for every
/// microbatch: by the first product that reads what has been gathered. Before routines are made.
void cast_gathered_weights(TrainingStepAssembly& step);
/// All other weights are cast once a step, before a block's first microbatch.
void cast_weights(TrainingStepAssembly& step);

/// Sums gradients over replicas by all-reduce or, for ZeRO, reduce-scatter: in buckets once the
/// last microbatch is done, or (ZeRO-2, 3) block by block, after every microbatch or the last.
void exchange_gradients(TrainingStepAssembly& step);
/// What is left to sum: gradients of tied embeddings, and of norms under sequence parallelism.
void finish_gradients(TrainingStepAssembly& step);
/// Updates the weights, on the device or on the host, and gathers those that were updated in
/// shards. Each of these begins when what was issued before has ended, unless updates go by bucket.
void update_weights(TrainingStepAssembly& step);

/// Instead of the three above: every parameter server sums its share of the gradients, updates its
/// share of the weights and sends them back.
void train_on_servers(TrainingStepAssembly& step);
/// Instead of exchange_gradients(): a host sums all gradients and sends the sum back.
void average_on_host(TrainingStepAssembly& step);
/// Instead of exchange_gradients(), and with no other exchange: replicas train apart; their weights
/// are averaged at the end of the step.
void scale_for_averaging(TrainingStepAssembly& step);
void average_weights(TrainingStepAssembly& step);

/// The positions of a stage in the order in which backward is done with them for good, each with
/// the index of the call after which it is.
[[nodiscard]] std::vector<std::pair<int, std::size_t>> finished_positions(const StageScript& stage);
/// Groups weights by a set of atoms.
[[nodiscard]] std::vector<std::pair<MeshSubAxes, std::vector<TrainedWeight>>> grouped(
    const std::vector<TrainedWeight>& weights, MeshSubAxes TrainedWeight::*by);
/// A collective over `over` on tensors of several weights, in one message.
[[nodiscard]] Operation collective_of(const TrainingStepAssembly& step, Collective collective,
                                      const MeshSubAxes& over, std::string name);

/// The stream that a group's traffic has where it may hide behind computation, else the compute
/// stream, where it runs in the order of issue.
[[nodiscard]] StreamId stream_of(const TrainingStepAssembly& step, std::string_view group,
                                 bool hides);
/// Puts the communication of the model's own routines on the streams that `overlap` allows it.
void assign_streams(Program& program, const ParallelConfig& parallel);

}  // namespace lockstep
