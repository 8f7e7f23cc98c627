#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <set>

#include "sim/base/check.hpp"
#include "strategies/layout/passes.hpp"
#include "strategies/sharding/placement.hpp"

namespace lockstep {

namespace {

class Finder {
 public:
  explicit Finder(TrainingStepAssembly& step) : step_{step} {}

  void run() {
    const auto& chain = step_.graph.chain;
    for (std::size_t at = 0; at < step_.graph.blocks.size(); ++at) {
      const Block& block = step_.graph.blocks[at];
      const auto index = static_cast<int>(at);
      const bool layer = index != chain.front() && index != chain.back();
      std::vector<TrainedWeight> trained;
      for (std::size_t i = 0; i < block.weights.size(); ++i) {
        const auto matrix = layer ? matrix_of(block, block.weights[i]) : std::nullopt;
        trained.push_back(find(block.weights[i], block.gradients[i], matrix));
      }
      step_.weights.push_back(std::move(trained));
    }
    for (const SharedWeight& shared : step_.graph.shared_weights) list(shared);
  }

 private:
  /// With all blocks that read it.
  void list(const SharedWeight& shared) {
    std::set<int> blocks;
    for (const int position : shared.positions)
      blocks.insert(step_.graph.chain[static_cast<std::size_t>(position)]);
    blocks.erase(step_.graph.chain[static_cast<std::size_t>(shared.positions.front())]);
    for (const int block : blocks)
      step_.weights[static_cast<std::size_t>(block)].push_back(known_.at(shared.weight));
  }

  /// What a weight is to an optimizer of matrices: the rows are those of the GEMM that reads it,
  /// which are contracted, and columns those of its result. Embeddings and the output layer,
  /// vectors and what no GEMM reads are none (dion muon.py; Megatron-Core optimizer/muon.py).
  [[nodiscard]] std::optional<MatrixStack> matrix_of(const Block& block, TensorId weight) const {
    if (!step_.parallel.state.takes_matrices()) return std::nullopt;
    for (const Operation& gemm : block.forward) {
      if (gemm.kind != OperationKind::matmul || read_of(gemm, Operand::b).tensor != weight)
        continue;
      return matrix_of(tensor(weight), tensor(read_of(gemm, Operand::a).tensor),
                       tensor(write_of(gemm, Operand::y).tensor));
    }
    return std::nullopt;
  }

  [[nodiscard]] MatrixStack matrix_of(const Tensor& weight, const Tensor& a,
                                      const Tensor& y) const {
    const Mesh& mesh = step_.program.mesh;
    const StateConfig& state = step_.parallel.state;
    MatrixStack out;
    out.iterations = state.newton_schulz_steps;
    out.largest_side = state.max_preconditioner_dim;
    out.every = state.precondition_frequency;
    for (const Extent& extent : weight.extents) {
      const bool contracted = find_extent(y, extent.dim) == nullptr;
      if (!contracted && find_extent(a, extent.dim) != nullptr) {
        LOCKSTEP_CHECK(extent.dim == Dim::expert && out.rows * out.columns == 1);
        out.count *= local_size(mesh, extent);
        continue;
      }
      LOCKSTEP_CHECK(!contracted || out.columns == 1);  // rows come first
      (contracted ? out.rows : out.columns) *= extent.size;
      (contracted ? out.row_parts : out.column_parts) *= mesh.size(extent.shards);
      (contracted ? out.rows_apart : out.columns_apart) *= parts_apart(weight, extent);
    }
    out.symmetric = state.muon_syrk;
    if (is_blockwise()) take_blocks(out);
    return out;
  }

  [[nodiscard]] bool is_blockwise() const {
    const StateConfig& state = step_.parallel.state;
    return state.optimizer == Optimizer::muon && state.muon_blocks == MuonBlocks::blockwise;
  }

  /// A rank's block is all that it takes.
  static void take_blocks(MatrixStack& of) {
    of.rows /= of.row_parts;
    of.columns /= of.column_parts;
    of.row_parts = of.column_parts = 1;
  }

  /// Blocks along a dimension, on a device that has all of them (device_mesh.hpp).
  [[nodiscard]] int parts_apart(const Tensor& weight, const Extent& extent) const {
    if (!is_blockwise()) return 1;
    const MatrixCuts& cuts = step_.parallel.state.muon_cuts;
    switch (extent.dim) {
      case Dim::heads:
        return cuts.tp;
      case Dim::kv_heads:
        return static_cast<int>(std::gcd<std::int64_t>(cuts.tp, extent.size));
      case Dim::ffn:
        return find_extent(weight, Dim::expert) != nullptr ? cuts.etp : cuts.tp;
      default:
        return 1;
    }
  }

  /// A weight that two blocks share is found once.
  [[nodiscard]] TrainedWeight find(TensorId weight, TensorId gradient,
                                   const std::optional<MatrixStack>& matrix) {
    const auto known = known_.find(weight);
    if (known != known_.end()) return known->second;
    TrainedWeight out{weight, gradient};
    out.matrix = matrix;
    cut(out);
    keep_gradient(out);
    keep_weight(out);
    add_states(out);
    return known_.emplace(weight, out).first->second;
  }

  void cut(TrainedWeight& out) {
    const Mesh& mesh = step_.program.mesh;
    const MeshSubAxes partial = tensor(out.gradient).partial;
    const MeshSubAxes replicas = common(partial, mesh.axis("dp_cp"));
    out.within = without(partial, replicas);
    out.outer = common(replicas, mesh.axis("outer"));
    out.over = with_copies(without(replicas, out.outer));
    if (step_.parallel.zero > 0 && !stays_whole(out.weight))
      out.shard = common(out.over, mesh.axis("shard"));
    out.replicate = without(out.over, out.shard);
    MeshSubAxes& sums = tensor(out.gradient).partial;
    sums = joined(sums, mesh.axis("copies"));
  }

  /// Tables of relative positions are read by all layers of a stack, not only by that which has
  /// them. DeepSpeed keeps weights of up to 1e5 elements whole as well
  /// (stage3_param_persistence_threshold), though not their states.
  [[nodiscard]] bool stays_whole(TensorId weight) const {
    if (step_.parallel.zero < 3) return false;
    return std::any_of(
        step_.graph.blocks.begin(), step_.graph.blocks.end(), [&](const Block& block) {
          return std::any_of(block.forward.begin(), block.forward.end(),
                             [&](const Operation& operation) {
                               return operation.kind == OperationKind::relative_bias &&
                                      read_of(operation, Operand::table).tensor == weight;
                             });
        });
  }

  /// Each copy of a stage has seen some of the microbatches. Outermost first.
  [[nodiscard]] MeshSubAxes with_copies(const MeshSubAxes& replicas) const {
    const MeshSubAxes copies = step_.program.mesh.axis("copies");
    if (copies.empty()) return replicas;
    MeshSubAxes out = joined(replicas, copies);
    std::sort(out.begin(), out.end(), std::greater<>{});
    return out;
  }

  void keep_gradient(TrainedWeight& out) {
    out.reduced = out.scattered = out.summed = out.share = out.gradient;
    if (out.shard.empty()) return;
    Tensor shard = tensor(out.gradient);
    shard.name += ".shard";
    shard.partial = without(shard.partial, out.over);
    shard.flat = out.shard;
    if (step_.parallel.has_wide_shards()) shard.dtype = *step_.parallel.shards;
    if (step_.parallel.zero == 1) {
      shard.category = Category::buffer;
      shard.resident = false;
    } else {
      Tensor& whole = tensor(out.gradient);
      whole.resident = false;
      if (step_.parallel.scatters_every_microbatch()) whole.scope = Scope::microbatch;
    }
    if (step_.parallel.has_wide_shards() &&
        tensor(out.gradient).dtype != step_.parallel.state.gradients)
      add_reduced(out);
    out.share = add(std::move(shard));
    if (step_.parallel.zero > 1 || step_.parallel.scatter_gradients) out.summed = out.share;
    out.scattered = out.summed;
    if (!out.replicate.empty() && step_.parallel.sums_every_microbatch()) add_scattered(out);
  }

  void add_scattered(TrainedWeight& out) {
    Tensor scattered = tensor(out.summed);
    scattered.name += ".microbatch";
    scattered.partial = joined(scattered.partial, out.replicate);
    scattered.scope = Scope::microbatch;
    scattered.category = Category::buffer;
    scattered.resident = false;
    out.scattered = add(std::move(scattered));
  }

  void add_reduced(TrainedWeight& out) {
    Tensor reduced = tensor(out.gradient);
    reduced.name += ".reduced";
    reduced.dtype = step_.parallel.state.gradients;
    reduced.category = Category::buffer;
    out.reduced = add(std::move(reduced));
  }

  void keep_weight(TrainedWeight& out) {
    out.kept = out.weight;
    if (out.shard.empty()) return;
    Tensor shard = tensor(out.weight);
    shard.name += ".shard";
    shard.flat = out.shard;
    shard.copy_of = out.weight;
    if (step_.parallel.has_wide_shards()) shard.dtype = *step_.parallel.shards;
    if (step_.parallel.zero < 3 && !step_.parallel.overlaps(Overlap::dp_parameters)) {
      shard.category = Category::buffer;
      shard.resident = false;
    }
    if (step_.parallel.zero < 3) shard.category = Category::buffer;
    out.kept = add(std::move(shard));
    if (step_.parallel.zero == 3) {
      tensor(out.weight).resident = false;
      tensor(out.weight).scope = Scope::microbatch;
    }
  }

  void add_states(TrainedWeight& out) {
    const StateConfig& state = step_.parallel.state;
    if (state.master && tensor(out.kept).dtype != Dtype::fp32 &&
        tensor(out.kept).dtype != Dtype::fp64) {
      out.states.push_back(add_state(out, ".master", Dtype::fp32, true));
    }
    for (int i = 0; i < moments_of(state, out.matrix.has_value()); ++i) {
      out.states.push_back(
          add_state(out, i == 0 ? ".momentum" : ".variance", state.moments, false));
    }
    if (out.outer.empty()) return;
    const TensorId last = add_state(out, ".outer", Dtype::fp32, true);
    tensor(last).lags = true;
    tensor(last).on_host = step_.parallel.outer_on_host;
    out.outer_states = {last, add_state(out, ".outer_momentum", Dtype::fp32, false)};
  }

  [[nodiscard]] TensorId add_state(const TrainedWeight& of, const char* suffix, Dtype dtype,
                                   bool copies) {
    Tensor state = tensor(of.weight);
    state.name += suffix;
    state.scope = Scope::layer;
    state.category = Category::optimizer_state;
    state.dtype = dtype;
    state.flat = of.shard;
    state.resident = true;
    state.on_host = step_.parallel.state.offload;
    if (copies) state.copy_of = of.weight;
    return add(std::move(state));
  }

  [[nodiscard]] Tensor& tensor(TensorId id) { return step_.graph.tensors[id]; }
  [[nodiscard]] const Tensor& tensor(TensorId id) const { return step_.graph.tensors[id]; }
  [[nodiscard]] TensorId add(Tensor of) {
    step_.graph.tensors.push_back(std::move(of));
    return static_cast<TensorId>(step_.graph.tensors.size() - 1);
  }

  TrainingStepAssembly& step_;
  std::map<TensorId, TrainedWeight> known_;
};

}  // namespace

void find_trained_weights(TrainingStepAssembly& step) {
  Finder{step}.run();
}

std::vector<TrainedWeight> TrainingStepAssembly::trained_at(int position) const {
  std::vector<TrainedWeight> out = weights_at(position);
  std::erase_if(out, [&](const TrainedWeight& one) {
    const SharedWeight* shared = graph.shared_weight(one.weight);
    if (shared == nullptr) return false;
    const int stage = stage_of(position);
    return std::any_of(shared->positions.begin(), shared->positions.end(),
                       [&](int other) { return other < position && stage_of(other) == stage; });
  });
  return out;
}

Ref TrainingStepAssembly::at(TensorId tensor, const TrainedWeight& weight, int position) const {
  const SharedWeight* shared = graph.shared_weight(weight.weight);
  return {.tensor = tensor, .position = shared != nullptr ? shared->positions.front() : position};
}

}  // namespace lockstep
