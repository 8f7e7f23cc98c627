#include <algorithm>
#include <map>

#include "sim/base/check.hpp"
#include "strategies/layout/passes.hpp"
#include "strategies/sharding/placement.hpp"

namespace lockstep {

namespace {

class Finder {
 public:
  explicit Finder(TrainingStepAssembly& step) : step_{step} {}

  void run() {
    for (Block& block : step_.graph.blocks) {
      std::vector<TrainedWeight> trained;
      for (std::size_t i = 0; i < block.weights.size(); ++i) {
        trained.push_back(find(block.weights[i], block.gradients[i]));
      }
      step_.weights.push_back(std::move(trained));
    }
    const auto& tied = step_.graph.tied;
    if (!tied) return;
    const int second = step_.graph.chain[static_cast<std::size_t>(tied->second)];
    step_.weights[static_cast<std::size_t>(second)].push_back(known_.at(tied->weight));
  }

 private:
  /// A weight that two blocks share is found once.
  [[nodiscard]] TrainedWeight find(TensorId weight, TensorId gradient) {
    const auto known = known_.find(weight);
    if (known != known_.end()) return known->second;
    TrainedWeight out{weight, gradient};
    cut(out);
    keep_gradient(out);
    keep_weight(out);
    add_states(out);
    return known_.emplace(weight, out).first->second;
  }

  void cut(TrainedWeight& out) const {
    const Mesh& mesh = step_.program.mesh;
    const MeshSubAxes partial = tensor(out.gradient).partial;
    const MeshSubAxes replicas = common(partial, mesh.axis("dp_cp"));
    out.within = without(partial, replicas);
    out.outer = common(replicas, mesh.axis("outer"));
    out.over = without(replicas, out.outer);
    if (step_.parallel.zero > 0) out.shard = common(out.over, mesh.axis("shard"));
    out.replicate = without(out.over, out.shard);
  }

  void keep_gradient(TrainedWeight& out) {
    out.summed = out.share = out.gradient;
    if (out.shard.empty()) return;
    Tensor shard = tensor(out.gradient);
    shard.name += ".shard";
    shard.partial = without(shard.partial, out.over);
    shard.flat = out.shard;
    if (step_.parallel.zero == 1) {
      shard.category = Category::buffer;
      shard.resident = false;
    } else {
      Tensor& whole = tensor(out.gradient);
      whole.resident = false;
      if (step_.parallel.scatters_every_microbatch()) whole.scope = Scope::microbatch;
    }
    out.share = add(std::move(shard));
    if (step_.parallel.zero > 1 || step_.parallel.scatter_gradients) out.summed = out.share;
  }

  void keep_weight(TrainedWeight& out) {
    out.kept = out.weight;
    if (out.shard.empty()) return;
    Tensor shard = tensor(out.weight);
    shard.name += ".shard";
    shard.flat = out.shard;
    shard.copy_of = out.weight;
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
    if (state.master && tensor(out.weight).dtype != Dtype::fp32 &&
        tensor(out.weight).dtype != Dtype::fp64) {
      out.states.push_back(add_state(out, ".master", Dtype::fp32, true));
    }
    const int moments = state.optimizer == Optimizer::adam       ? 2
                        : state.optimizer == Optimizer::momentum ? 1
                                                                 : 0;
    for (int i = 0; i < moments; ++i) {
      out.states.push_back(
          add_state(out, i == 0 ? ".momentum" : ".variance", state.moments, false));
    }
    if (out.outer.empty()) return;
    const TensorId last = add_state(out, ".outer", Dtype::fp32, true);
    tensor(last).lags = true;
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
  const auto& tied = graph.tied;
  if (tied && position == tied->second && stage_of(tied->first) == stage_of(position)) {
    std::erase_if(out, [&](const TrainedWeight& one) { return one.weight == tied->weight; });
  }
  return out;
}

Ref TrainingStepAssembly::at(TensorId tensor, const TrainedWeight& weight, int position) const {
  const bool shared = graph.tied && weight.weight == graph.tied->weight;
  return {.tensor = tensor, .position = shared ? graph.tied->first : position};
}

}  // namespace lockstep
