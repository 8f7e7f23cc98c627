#include <map>

#include "strategies/parallel/step_assembly.hpp"

namespace lockstep {

namespace {

/// Updates of one stage, position by position.
class Updates {
 public:
  Updates(StepAssembly& step, StageScript& stage) : step_{step}, stage_{stage} {}

  void run() {
    const auto positions = finished_positions(stage_);
    for (const auto& [position, after] : positions) {
      const std::vector<TrainedWeight> weights = step_.trained_at(position);
      if (!weights.empty()) add(update(weights, position));
    }
    if (step_.parallel.zero != 1 && step_.parallel.zero != 2) return;
    const bool next_step = step_.parallel.overlaps(Overlap::dp_parameters);
    std::vector<ScriptCall> before;
    for (std::size_t i = positions.size(); i-- > 0;) {
      gather(positions[i].first, next_step ? before : stage_.calls);
    }
    stage_.calls.insert(stage_.calls.begin(), before.begin(), before.end());
  }

 private:
  void add(Routine routine) {
    const RoutineId id = step_.program.add(std::move(routine));
    stage_.calls.push_back({Work::other, {id, 0, 0}});
  }

  [[nodiscard]] bool has_master(const TrainedWeight& weight) const {
    return !weight.states.empty() &&
           step_.graph.tensors[weight.states.front()].copy_of == weight.weight;
  }

  [[nodiscard]] Routine update(const std::vector<TrainedWeight>& weights, int position) {
    Routine out{"update", {}};
    Operation update;
    update.kind = OperationKind::update;
    update.name = "update";
    update.purpose = Purpose::update;
    update.optimizer = step_.parallel.state.optimizer;
    const bool offload = step_.parallel.state.offload;
    if (offload) update.stream = step_.program.stream("host");
    std::vector<Operation> after;
    for (const TrainedWeight& weight : weights) {
      Ref gradient = step_.at(weight.share, weight, position);
      if (weight.share != weight.summed)
        out.operations.push_back(
            copy(OperationKind::slice, step_.at(weight.summed, weight, position), gradient));
      Ref kept = step_.at(weight.kept, weight, position);
      if (!has_master(weight) && !step_.graph.tensors[weight.kept].resident) {
        out.operations.push_back(
            copy(OperationKind::slice, step_.at(weight.weight, weight, position), kept));
      }
      if (offload) {
        const Ref on_host = host_copy_of(gradient);
        out.operations.push_back(copy(OperationKind::host_copy, gradient, on_host));
        gradient = on_host;
        const Ref kept_on_host = host_copy_of(kept);
        if (!has_master(weight)) {
          out.operations.push_back(copy(OperationKind::host_copy, kept, kept_on_host));
        }
        after.push_back(copy(OperationKind::host_copy, kept_on_host, kept));
        kept = kept_on_host;
      }
      update.reads.push_back(gradient);
      if (!has_master(weight)) update.reads.push_back(kept);
      update.writes.push_back(kept);
      for (const TensorId state : weight.states) {
        const Ref ref = step_.at(state, weight, position);
        update.reads.push_back(ref);
        update.writes.push_back(ref);
      }
    }
    out.operations.push_back(std::move(update));
    out.operations.insert(out.operations.end(), after.begin(), after.end());
    return out;
  }

  [[nodiscard]] Operation copy(OperationKind kind, const Ref& from, const Ref& to) {
    Operation out;
    out.kind = kind;
    out.name = kind == OperationKind::slice             ? "update.slice"
               : step_.graph.tensors[to.tensor].on_host ? "offload"
                                                        : "load";
    out.purpose = Purpose::update;
    if (kind == OperationKind::host_copy) out.stream = step_.program.stream("copy." + out.name);
    out.reads = {from};
    out.writes = {to};
    return out;
  }

  [[nodiscard]] Ref host_copy_of(Ref ref) {
    const auto found = on_host_.find(ref.tensor);
    if (found != on_host_.end()) {
      ref.tensor = found->second;
      return ref;
    }
    Tensor copy = step_.graph.tensors[ref.tensor];
    copy.name += ".host";
    copy.category = Category::buffer;
    copy.resident = false;
    copy.on_host = true;
    const auto id = static_cast<TensorId>(step_.graph.tensors.size());
    on_host_.emplace(ref.tensor, id);
    step_.graph.tensors.push_back(std::move(copy));
    ref.tensor = id;
    return ref;
  }

  /// Weights that were updated in shards become whole again.
  void gather(int position, std::vector<ScriptCall>& calls) {
    Routine out{"gather_weights", {}};
    for (const auto& [over, weights] : grouped(step_.trained_at(position), &TrainedWeight::shard)) {
      if (over.empty()) continue;
      Operation gather = collective_of(step_, Collective::all_gather, over, "gather_weights");
      for (const TrainedWeight& weight : weights) {
        gather.reads.push_back(step_.at(weight.kept, weight, position));
        gather.writes.push_back(step_.at(weight.weight, weight, position));
      }
      out.operations.push_back(std::move(gather));
    }
    if (out.operations.empty()) return;
    calls.push_back({Work::other, {step_.program.add(std::move(out)), 0, 0}});
  }

  StepAssembly& step_;
  StageScript& stage_;
  std::map<TensorId, TensorId> on_host_;
};

}  // namespace

void update_weights(StepAssembly& step) {
  for (StageScript& stage : step.stages) Updates{step, stage}.run();
}

}  // namespace lockstep
