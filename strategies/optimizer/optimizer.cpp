#include <map>
#include <utility>

#include "strategies/layout/passes.hpp"

namespace lockstep {

namespace {

/// Updates of one stage, position by position. Those of all positions are one phase, in which
/// gradients go to the host and weights come back in phases of their own where the host updates;
/// each phase begins when all before it has ended. By bucket every position goes on by itself.
class Updates {
 public:
  Updates(TrainingStepAssembly& step, StageScript& stage) : step_{step}, stage_{stage} {}

  void run() {
    const auto positions = finished_positions(stage_);
    for (const auto& [position, after] : positions) {
      std::vector<TrainedWeight> weights = step_.trained_at(position);
      std::erase_if(weights, [](const TrainedWeight& each) { return each.matrix.has_value(); });
      if (!weights.empty()) update(weights, position);
    }
    const bool offload = step_.parallel.state.offload;
    if (offload) add_phase(to_host_);
    add_phase(updates_);
    if (offload) add_phase(from_host_);
  }

  void gather() {
    if (step_.parallel.zero != 1 && step_.parallel.zero != 2) return;
    const auto positions = finished_positions(stage_);
    const bool next_step = step_.parallel.overlaps(Overlap::dp_parameters);
    std::vector<Routine> gathers;
    for (std::size_t i = positions.size(); i-- > 0;) gather(positions[i].first, gathers);
    if (!next_step) return add_phase(gathers);
    std::vector<ScriptCall> before;
    for (Routine& each : gathers) {
      if (!each.operations.empty()) before.push_back(called(std::move(each)));
    }
    stage_.calls.insert(stage_.calls.begin(), before.begin(), before.end());
  }

 private:
  [[nodiscard]] ScriptCall called(Routine routine) {
    return {CallWork::other, {step_.program.add(std::move(routine)), 0, 0}};
  }

  void add_phase(std::vector<Routine>& routines) {
    bool first = !step_.parallel.updates_by_bucket();
    for (Routine& each : routines) {
      if (each.operations.empty()) continue;
      each.operations.front().after_all = std::exchange(first, false);
      stage_.calls.push_back(called(std::move(each)));
    }
    routines.clear();
  }

  /// By bucket a position's parts are one routine.
  void add_update(Routine before, Operation update, Routine after) {
    if (!step_.parallel.state.offload || step_.parallel.updates_by_bucket()) {
      before.name = "update";
      before.operations.push_back(std::move(update));
      before.operations.insert(before.operations.end(), after.operations.begin(),
                               after.operations.end());
      updates_.push_back(std::move(before));
      return;
    }
    to_host_.push_back(std::move(before));
    updates_.push_back({"update", {std::move(update)}});
    from_host_.push_back(std::move(after));
  }

  [[nodiscard]] bool has_master(const TrainedWeight& weight) const {
    return !weight.states.empty() &&
           step_.graph.tensors[weight.states.front()].copy_of == weight.weight;
  }

  void update(const std::vector<TrainedWeight>& weights, int position) {
    Routine before{"to_host", {}};
    Routine after{"from_host", {}};
    Operation update;
    update.kind = OperationKind::update;
    update.name = "update";
    update.purpose = Purpose::update;
    const StateConfig& config = step_.parallel.state;
    update.optimizer = config.takes_matrices() ? Optimizer::adam : config.optimizer;
    const bool offload = config.offload;
    if (offload) update.stream = step_.program.stream("host");
    for (const TrainedWeight& weight : weights) {
      Ref gradient = step_.at(weight.share, weight, position);
      if (weight.share != weight.summed)
        before.operations.push_back(
            copy(OperationKind::slice, step_.at(weight.summed, weight, position), gradient));
      Ref kept = step_.at(weight.kept, weight, position);
      if (!has_master(weight) && !step_.graph.tensors[weight.kept].resident) {
        before.operations.push_back(
            copy(OperationKind::slice, step_.at(weight.weight, weight, position), kept));
      }
      if (offload) {
        const Ref on_host = host_copy_of(gradient);
        before.operations.push_back(copy(OperationKind::host_copy, gradient, on_host));
        gradient = on_host;
        const Ref kept_on_host = host_copy_of(kept);
        if (!has_master(weight)) {
          before.operations.push_back(copy(OperationKind::host_copy, kept, kept_on_host));
        }
        after.operations.push_back(copy(OperationKind::host_copy, kept_on_host, kept));
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
    add_update(std::move(before), std::move(update), std::move(after));
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
  void gather(int position, std::vector<Routine>& gathers) {
    Routine out{"gather_weights", {}};
    for (const auto& [over, weights] : grouped(step_.trained_at(position), &TrainedWeight::shard)) {
      if (over.empty()) continue;
      Operation gather = collective_of(step_, Collective::all_gather, over, "gather_weights");
      const bool hides = step_.parallel.overlaps(Overlap::dp_parameters);
      gather.stream = stream_of(step_, "dp", hides || step_.parallel.updates_by_bucket());
      for (const TrainedWeight& weight : weights) {
        gather.reads.push_back(step_.at(weight.kept, weight, position));
        gather.writes.push_back(step_.at(weight.weight, weight, position));
      }
      out.operations.push_back(std::move(gather));
    }
    gathers.push_back(std::move(out));
  }

  TrainingStepAssembly& step_;
  StageScript& stage_;
  std::map<TensorId, TensorId> on_host_;
  std::vector<Routine> to_host_;
  std::vector<Routine> updates_;
  std::vector<Routine> from_host_;
};

}  // namespace

void update_weights(TrainingStepAssembly& step) {
  for (StageScript& stage : step.stages) Updates{step, stage}.run();
}

void gather_updated_weights(TrainingStepAssembly& step) {
  for (StageScript& stage : step.stages) Updates{step, stage}.gather();
}

}  // namespace lockstep
