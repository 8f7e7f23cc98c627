#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/program/program.hpp"
#include "strategies/layout/parallel_config.hpp"
#include "strategies/models/model_config.hpp"
#include "strategies/models/model_graph.hpp"

/// A training step under construction: what the passes of layout/passes.hpp take and return.
namespace lockstep {

enum class CallWork : std::uint8_t { forward, backward, weight_gradient, other };

struct ScriptCall {
  CallWork work = CallWork::other;
  Call call{};
  int pair = 0;  // above 0: passes of two microbatches with the same number go in turn
};

/// Calls of one pipeline stage, in order.
struct StageScript {
  std::size_t role = 0;
  std::vector<ScriptCall> calls{};
};

/// A weight with its gradient and optimizer tensors. Ranks along `over` hold partial sums of the
/// gradient; so do ranks along `within`, which process the same samples (norms under sequence
/// parallelism). ZeRO shards along `shard`, the innermost part of `over`. Along `outer` replicas
/// train apart (DiLoCo). `over` includes the copies of a stage of a bidirectional pipeline, each of
/// which has its own microbatches.
/// With ParallelConfig::has_wide_shards() `reduced` is `gradient` cast, and `kept` is cast before
/// it is gathered.
/// With sums_every_microbatch() `scattered` is the shard of a microbatch, which is added to
/// `summed` as its replicas are summed.
struct TrainedWeight {
  TensorId weight = 0;    // as the model reads it
  TensorId gradient = 0;  // as backward writes it
  MeshSubAxes over{};
  MeshSubAxes within{};
  MeshSubAxes shard{};
  MeshSubAxes replicate{};  // `over` without `shard`
  MeshSubAxes outer{};
  TensorId reduced{};    // what ranks reduce: `gradient`, or a copy of it
  TensorId scattered{};  // ZeRO-2, -3: what reduce-scatters write: `summed`, or one like it
  TensorId summed{};     // the reduced gradient, or the rank's shard of it
  TensorId share{};      // what the optimizer reads: `summed`, or a shard sliced from it
  TensorId kept{};       // what the optimizer writes: the weight, or its shard
  std::vector<TensorId> states{};
  /// DiLoCo: the weight as of the last outer step, then the outer momentum, sharded like states.
  std::vector<TensorId> outer_states{};
  /// With an optimizer of matrices: what it takes the weight as; none: Adam updates it.
  std::optional<MatrixStack> matrix{};
};

struct TrainingStepAssembly {
  const ModelConfig& model;
  const ParallelConfig& parallel;
  bool ends_with_average = true;  // parameter averaging: of average_every steps the last
  int fragment = 0;               // DiLoCo: synchronized in this step, if it ends with an average
  ModelGraph graph{};  // has the tensors until the scripts are calls of the program's roles
  Program program{.mesh = Mesh{}};
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
  /// Range of positions [first, second) of each chunk, of a bidirectional pipeline of both copies;
  /// stage_of() has their stages.
  std::vector<std::pair<int, int>> chunks{};

  [[nodiscard]] const Block& block(int position) const {
    return graph.blocks[static_cast<std::size_t>(graph.chain[static_cast<std::size_t>(position)])];
  }
  [[nodiscard]] const std::vector<TrainedWeight>& weights_at(int position) const {
    return weights[static_cast<std::size_t>(graph.chain[static_cast<std::size_t>(position)])];
  }
  /// Of a bidirectional pipeline the first of two stages.
  [[nodiscard]] int stage_of(int position) const;
  /// Weights trained at a position. A shared weight is listed only at its first position on a
  /// stage.
  [[nodiscard]] std::vector<TrainedWeight> trained_at(int position) const;
  /// Reference to a tensor of `weight` as seen from `position`.
  [[nodiscard]] Ref at(TensorId tensor, const TrainedWeight& weight, int position) const;
};

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
[[nodiscard]] StreamId stream_of(TrainingStepAssembly& step, std::string_view group, bool hides);
}  // namespace lockstep
