#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "strategies/layout/passes.hpp"

namespace lockstep {

namespace {

/// The outer step of one stage.
class OuterStep {
 public:
  OuterStep(TrainingStepAssembly& step, StageScript& stage)
      : step_{step}, stage_{stage}, travels_{step.parallel.overlaps(Overlap::outer)} {
    for (const auto& [position, after] : finished_positions(stage)) {
      for (TrainedWeight& weight : step_.trained_at(position)) {
        if (weight.outer.empty()) continue;
        const int fragment =
            *step_.at(weight.weight, weight, position).position % step_.parallel.fragments;
        const bool now = step_.ends_with_average && fragment == step_.fragment;
        (now ? synchronized_ : others_).push_back({std::move(weight), position});
      }
    }
  }

  void run() {
    Routine gradients{"outer_gradients", {}};
    Routine update{"outer_update", {}};
    std::vector<Ref> outer;
    std::vector<Ref> sums;
    for (const Placed& each : synchronized_) {
      outer.push_back(gradient(each, gradients));
      sums.push_back(message(each, outer.back(), gradients));
    }
    if (!sums.empty()) {
      gradients.operations.push_back(sum(sums));
      for (std::size_t i = 0; i < sums.size(); ++i)
        update.operations.push_back(mean(sums[i], outer[i]));
      add_update(outer, update);
    }
    keep_others(update);
    const auto first = travels_ ? stage_.calls.begin() : stage_.calls.end();
    if (!sums.empty()) stage_.calls.insert(first, called(std::move(gradients)));
    if (!update.operations.empty()) stage_.calls.push_back(called(std::move(update)));
  }

 private:
  struct Placed {
    TrainedWeight weight;
    int position = 0;
  };

  [[nodiscard]] ScriptCall called(Routine routine) {
    return {CallWork::other, {step_.program.add(std::move(routine)), 0, 0}};
  }

  [[nodiscard]] Ref at(TensorId tensor, const Placed& of) const {
    return step_.at(tensor, of.weight, of.position);
  }

  [[nodiscard]] bool has_master(const TrainedWeight& weight) const {
    return !weight.states.empty() &&
           step_.graph.tensors[weight.states.front()].copy_of == weight.weight;
  }

  [[nodiscard]] static Operation computed(OperationKind kind, const char* name,
                                          std::vector<Ref> reads, const Ref& write) {
    Operation out;
    out.kind = kind;
    out.name = name;
    out.purpose = Purpose::update;
    out.reads = std::move(reads);
    out.writes = {write};
    return out;
  }

  /// A copy between device and host, of what computation has left by then.
  [[nodiscard]] Operation copied(const char* name, const Ref& from, const Ref& to) {
    Operation out = computed(OperationKind::host_copy, name, {from}, to);
    out.stream = step_.program.stream(std::string{"copy."} + name);
    out.ahead = -1;
    return out;
  }

  /// The weight of the last outer step on the device, where a copy of it comes if the host has it
  /// (torchft local_sgd.py, original_parameters: for gradients, and again for the update).
  [[nodiscard]] Ref last(const Placed& of, Routine& into) {
    const Ref kept = at(of.weight.outer_states.front(), of);
    if (!step_.parallel.outer_on_host) return kept;
    const TensorId loaded = buffer(loaded_, of.weight, ".outer.loaded", Dtype::fp32);
    step_.graph.tensors[loaded].copy_of = of.weight.weight;
    step_.graph.tensors[loaded].category = Category::optimizer_state;
    const Ref out = at(loaded, of);
    into.operations.push_back(copied("load", kept, out));
    return out;
  }

  /// What the weight was less what it is.
  [[nodiscard]] Ref gradient(const Placed& of, Routine& into) {
    const TrainedWeight& weight = of.weight;
    const Ref last = this->last(of, into);
    const Ref out = at(buffer(gradients_, weight, ".outer_gradient", Dtype::fp32), of);
    const Ref trained = at(has_master(weight) ? weight.states.front() : weight.kept, of);
    const bool sliced = travels_ && !step_.graph.tensors[trained.tensor].resident;
    if (sliced)
      into.operations.push_back(
          computed(OperationKind::slice, "outer.slice", {at(weight.weight, of)}, trained));
    into.operations.push_back(computed(OperationKind::scale, "negate_weight", {trained}, out));
    into.operations.back().factor = -1;
    into.operations.push_back(computed(OperationKind::add, "outer_gradient", {out, last}, out));
    return out;
  }

  /// As it is all-reduced.
  [[nodiscard]] Ref message(const Placed& of, const Ref& gradient, Routine& into) {
    const Dtype dtype = step_.parallel.outer_gradients;
    if (dtype == Dtype::fp32) return gradient;
    const Ref out = at(buffer(messages_, of.weight, ".outer_message", dtype), of);
    into.operations.push_back(
        computed(OperationKind::cast, "cast_outer_gradient", {gradient}, out));
    return out;
  }

  [[nodiscard]] TensorId buffer(std::map<TensorId, TensorId>& known, const TrainedWeight& weight,
                                const char* suffix, Dtype dtype) {
    const auto found = known.find(weight.weight);
    if (found != known.end()) return found->second;
    Tensor out = step_.graph.tensors[weight.outer_states.back()];
    out.name = step_.graph.tensors[weight.weight].name + suffix;
    out.category = Category::buffer;
    out.dtype = dtype;
    out.resident = false;
    out.on_host = false;
    const auto id = static_cast<TensorId>(step_.graph.tensors.size());
    step_.graph.tensors.push_back(std::move(out));
    return known.emplace(weight.weight, id).first->second;
  }

  [[nodiscard]] Operation sum(const std::vector<Ref>& gradients) {
    Operation out = collective_of(step_, Collective::all_reduce, synchronized_.front().weight.outer,
                                  "reduce_outer_gradients");
    out.communication->group = "outer";
    out.stream = stream_of(step_, "outer", travels_);
    out.reads = gradients;
    out.writes = gradients;
    return out;
  }

  [[nodiscard]] Operation mean(const Ref& sum, const Ref& gradient) const {
    Operation out = computed(OperationKind::scale, "mean_outer_gradient", {sum}, gradient);
    out.factor = 1.0 / step_.parallel.outer_degree();
    return out;
  }

  /// Of the last outer weights, which are then what is trained.
  void add_update(const std::vector<Ref>& gradients, Routine& into) {
    Operation update;
    update.kind = OperationKind::update;
    update.name = "outer_update";
    update.purpose = Purpose::update;
    update.optimizer = Optimizer::outer;
    std::vector<Operation> after;
    for (std::size_t i = 0; i < synchronized_.size(); ++i) {
      const Placed& of = synchronized_[i];
      const Ref last = this->last(of, into);
      update.reads.push_back(gradients[i]);
      update.writes.push_back(at(of.weight.kept, of));
      for (const Ref& state : {last, at(of.weight.outer_states.back(), of)}) {
        update.reads.push_back(state);
        update.writes.push_back(state);
      }
      if (has_master(of.weight))
        after.push_back(computed(OperationKind::scale, "outer_to_master", {last},
                                 at(of.weight.states.front(), of)));
      if (step_.parallel.outer_on_host)
        after.push_back(copied("offload", last, at(of.weight.outer_states.front(), of)));
    }
    into.operations.push_back(std::move(update));
    into.operations.insert(into.operations.end(), after.begin(), after.end());
  }

  /// Holds the states that this step does not change.
  void keep_others(Routine& into) const {
    for (const Placed& of : others_) {
      for (const TensorId state : of.weight.outer_states) {
        const Ref ref = at(state, of);
        into.operations.push_back(computed(OperationKind::slice, "keep_outer_state", {ref}, ref));
      }
    }
  }

  TrainingStepAssembly& step_;
  StageScript& stage_;
  bool travels_;
  std::vector<Placed> synchronized_{};
  std::vector<Placed> others_{};
  std::map<TensorId, TensorId> gradients_{};  // of a weight
  std::map<TensorId, TensorId> messages_{};   // of a weight
  std::map<TensorId, TensorId> loaded_{};     // of a weight
};

}  // namespace

void weigh_losses(TrainingStepAssembly& step) {
  for (Block& block : step.graph.blocks)
    for (Operation& operation : block.backward)
      if (operation.kind == OperationKind::loss_backward)
        operation.factor *= step.parallel.outer_degree();
}

void take_outer_step(TrainingStepAssembly& step) {
  for (StageScript& stage : step.stages) OuterStep{step, stage}.run();
}

}  // namespace lockstep
