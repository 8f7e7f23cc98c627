#include <map>

#include "strategies/layout/passes.hpp"
#include "strategies/sharding/redistribute.hpp"

namespace lockstep {

namespace {

/// Inserts a gathering call before every forward and backward call, or before the call before it,
/// so that weights arrive while that one computes. Gathers and reductions of gradients share a
/// communicator and so come one after the other, as in PyTorch's FSDP: the next block's weights
/// are asked for before the gradients of this one are reduced.
class Gathering {
 public:
  explicit Gathering(TrainingStepAssembly& step) : step_{step} {}

  void run() {
    for (StageScript& stage : step_.stages) {
      std::vector<ScriptCall> out;
      std::size_t gathered = 0;
      for (std::size_t i = 0; i < stage.calls.size(); ++i) {
        const std::size_t until = ahead() ? next_gathering(stage, i + 1) : i;
        for (; gathered <= until && gathered < stage.calls.size(); ++gathered) {
          if (gathers_before(stage.calls[gathered].work)) add(stage.calls[gathered], out);
        }
        out.push_back(stage.calls[i]);
      }
      stage.calls = std::move(out);
    }
  }

 private:
  [[nodiscard]] bool gathers_before(CallWork work) const {
    return work == CallWork::forward ||
           (work == CallWork::backward && step_.parallel.reshard_after_forward);
  }

  [[nodiscard]] bool ahead() const {
    return step_.parallel.prefetch && step_.parallel.overlaps(Overlap::dp_parameters);
  }

  /// The first call from there on that gathers weights.
  [[nodiscard]] std::size_t next_gathering(const StageScript& stage, std::size_t from) const {
    while (from < stage.calls.size() && !gathers_before(stage.calls[from].work)) ++from;
    return from;
  }

  void add(const ScriptCall& call, std::vector<ScriptCall>& out) {
    const bool backward = call.work == CallWork::backward;
    const int block = step_.graph.chain[static_cast<std::size_t>(call.call.position)];
    const auto key = std::pair{block, backward};
    auto found = routines_.find(key);
    if (found == routines_.end()) {
      found = routines_.emplace(key, routine(call.call.position, backward)).first;
    }
    if (step_.program.routines[found->second].operations.empty()) return;
    out.push_back({CallWork::other, {found->second, call.call.position, call.call.microbatch}});
  }

  [[nodiscard]] RoutineId routine(int position, bool backward) {
    Routine out{step_.block(position).name + ".gather", {}};
    for (const auto& [over, weights] : grouped(step_.weights_at(position), &TrainedWeight::shard)) {
      if (over.empty()) continue;
      Operation gather = collective_of(step_, Collective::all_gather, over, "gather_weights");
      place(gather);
      Operation cast;
      cast.kind = OperationKind::cast;
      cast.name = "cast_weights";
      for (const TrainedWeight& weight : weights) {
        const Ref kept = relative(weight.kept, weight);
        gather.reads.push_back(kept);
        if (step_.parallel.has_wide_shards()) {
          gather.reads.back().tensor = add_sent(weight, backward);
          cast.reads.push_back(kept);
          cast.writes.push_back(gather.reads.back());
        }
        gather.writes.push_back(
            relative(backward ? step_.backward_weights.at(weight.weight) : weight.weight, weight));
      }
      if (!cast.reads.empty()) out.operations.push_back(std::move(cast));
      out.operations.push_back(std::move(gather));
    }
    return step_.program.add(std::move(out));
  }

  /// A shard as it is gathered, in the precision of the weight (PyTorch _fsdp_collectives.py,
  /// all_gather_copy_in).
  [[nodiscard]] TensorId add_sent(const TrainedWeight& of, bool backward) {
    Tensor sent = step_.graph.tensors[of.kept];
    sent.name += backward ? ".sent_backward" : ".sent";
    sent.dtype = step_.graph.tensors[of.weight].dtype;
    sent.category = Category::buffer;
    sent.scope = Scope::microbatch;
    sent.resident = false;
    sent.copy_of = std::nullopt;
    step_.graph.tensors.push_back(std::move(sent));
    return static_cast<TensorId>(step_.graph.tensors.size() - 1);
  }

  /// Where gathers may not hide but reductions may, these are over first: one communicator.
  void place(Operation& gather) const {
    const bool hides = step_.parallel.overlaps(Overlap::dp_parameters);
    gather.stream = stream_of(step_, "dp", hides);
    if (hides) gather.ahead = 0;
    gather.after_all = !hides && step_.parallel.overlaps(Overlap::dp_gradients);
  }

  /// Shared weights stand at the position of their first use, others at that of the call.
  [[nodiscard]] Ref relative(TensorId tensor, const TrainedWeight& weight) const {
    Ref ref = step_.at(tensor, weight, 0);
    if (step_.graph.shared_weight(weight.weight) == nullptr) ref.position.reset();
    return ref;
  }

  TrainingStepAssembly& step_;
  std::map<std::pair<int, bool>, RoutineId> routines_;
};

}  // namespace

void reshard_after_forward(TrainingStepAssembly& step) {
  for (std::size_t i = 0; i < step.graph.blocks.size(); ++i) {
    for (const TrainedWeight& weight : step.weights[i]) {
      if (weight.shard.empty() || step.backward_weights.contains(weight.weight)) continue;
      Tensor again = step.graph.tensors[weight.weight];
      again.name += ".backward";
      step.backward_weights.emplace(weight.weight,
                                    static_cast<TensorId>(step.graph.tensors.size()));
      step.graph.tensors.push_back(std::move(again));
    }
    for (Operation& operation : step.graph.blocks[i].backward) {
      for (Ref& ref : operation.reads) {
        const auto found = step.backward_weights.find(ref.tensor);
        if (found != step.backward_weights.end()) ref.tensor = found->second;
      }
    }
  }
}

void gather_weights(TrainingStepAssembly& step) {
  Gathering{step}.run();
}

}  // namespace lockstep
