#include "strategies/step/facts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>

#include "sim/base/check.hpp"
#include "sim/program/unroll.hpp"
#include "strategies/pipeline/pipeline_order.hpp"
#include "strategies/sharding/operands_fit.hpp"
#include "strategies/sharding/placement.hpp"

namespace lockstep {

namespace {

using Step = TrainingStepAssembly;

[[nodiscard]] MeshSubAxes sorted(MeshSubAxes axes) {
  std::sort(axes.begin(), axes.end());
  return axes;
}

[[nodiscard]] std::string not_one_device(const Step& step) {
  for (const Tensor& tensor : step.graph.tensors) {
    const bool cut = std::any_of(tensor.extents.begin(), tensor.extents.end(),
                                 [](const Extent& extent) { return !extent.shards.empty(); });
    if (cut || !tensor.partial.empty() || !tensor.flat.empty())
      return fmt::format("{} is sharded", tensor.name);
  }
  for (const Block& block : step.graph.blocks)
    for (const auto* operations : {&block.forward, &block.backward})
      for (const Operation& operation : *operations)
        if (operation.communication) return fmt::format("{} communicates", operation.name);
  return {};
}

/// What is there at a position and one further.
class Defined {
 public:
  explicit Defined(const Step& step) : step_{step} {
    for (const TensorId input : step.graph.inputs) everywhere_.insert(input);
    for (const auto& weights : step.weights)
      for (const TrainedWeight& weight : weights) everywhere_.insert(weight.weight);
    for (const auto& [weight, again] : step.backward_weights) everywhere_.insert(again);
    add_shared();
  }

  /// The first undefined operand of a block.
  [[nodiscard]] std::string undefined(const Block& block) {
    here_.clear();
    if (block.input) here_.emplace(*block.input, 0);
    std::string out = read(block, block.forward);
    if (block.output_gradient) here_.emplace(*block.output_gradient, 1);
    return out.empty() ? read(block, block.backward) : out;
  }

 private:
  template <class Each>
  void for_each_operation(Each&& each) const {
    for (const Block& block : step_.graph.blocks)
      for (const auto* operations : {&block.forward, &block.backward})
        for (const Operation& operation : *operations) each(operation);
  }

  /// What blocks name by a position and one of them writes.
  void add_shared() {
    std::set<TensorId> written;
    for_each_operation([&](const Operation& operation) {
      for (const Ref& ref : operation.writes) written.insert(ref.tensor);
    });
    for_each_operation([&](const Operation& operation) {
      for (const auto* refs : {&operation.reads, &operation.writes})
        for (const Ref& ref : *refs)
          if (ref.position && written.contains(ref.tensor)) everywhere_.insert(ref.tensor);
    });
  }

  [[nodiscard]] std::string read(const Block& block, const std::vector<Operation>& operations) {
    for (const Operation& operation : operations) {
      for (const Ref& ref : operation.reads) {
        const bool known = step_.graph.tensors[ref.tensor].resident ||
                           everywhere_.contains(ref.tensor) ||
                           here_.contains({ref.tensor, ref.further});
        if (!known)
          return fmt::format("{} of {} reads {}, which nothing wrote", operation.name, block.name,
                             step_.graph.tensors[ref.tensor].name);
      }
      for (const Ref& ref : operation.writes) here_.emplace(ref.tensor, ref.further);
    }
    return {};
  }

  const Step& step_;
  std::set<TensorId> everywhere_;
  std::set<std::pair<TensorId, int>> here_;
};

[[nodiscard]] std::string undefined_read(const Step& step) {
  Defined defined{step};
  for (const Block& block : step.graph.blocks) {
    std::string out = defined.undefined(block);
    if (!out.empty()) return out;
  }
  return {};
}

[[nodiscard]] std::string misfit_of(const Step& step, const std::vector<Tensor>& tensors,
                                    const std::vector<Operation>& operations) {
  for (const Operation& operation : operations) {
    const std::string why = misfit(step.program.mesh, tensors, operation);
    if (!why.empty()) return fmt::format("{}: {}", operation.name, why);
  }
  return {};
}

[[nodiscard]] std::string any_misfit(const Step& step, const std::vector<Tensor>& tensors) {
  std::string out;
  for (const Tensor& tensor : tensors)
    if (out.empty()) out = misfit(step.program.mesh, tensor);
  for (const Block& block : step.graph.blocks)
    for (const auto* operations : {&block.forward, &block.backward})
      if (out.empty()) out = misfit_of(step, tensors, *operations);
  for (const Routine& routine : step.program.routines)
    if (out.empty()) out = misfit_of(step, tensors, routine.operations);
  return out;
}

[[nodiscard]] std::string misplaced(const Step& step) {
  return any_misfit(step, step.graph.tensors);
}

[[nodiscard]] std::string wrong_weight(const Step& step, const TrainedWeight& weight) {
  const auto& tensors = step.graph.tensors;
  const std::string& name = tensors[weight.weight].name;
  MeshSubAxes sums = weight.over;
  sums.insert(sums.end(), weight.within.begin(), weight.within.end());
  sums.insert(sums.end(), weight.outer.begin(), weight.outer.end());
  if (sorted(sums) != sorted(tensors[weight.gradient].partial))
    return fmt::format("the gradient of {} is not the sum over `over`, `within` and `outer`", name);
  MeshSubAxes parts = weight.shard;
  parts.insert(parts.end(), weight.replicate.begin(), weight.replicate.end());
  if (sorted(parts) != sorted(weight.over))
    return fmt::format("`shard` and `replicate` of {} are not the parts of `over`", name);
  for (const TensorId shard : {weight.share, weight.kept})
    if (tensors[shard].flat != weight.shard)
      return fmt::format("{} is not sharded along `shard`", tensors[shard].name);
  for (const auto* states : {&weight.states, &weight.outer_states})
    for (const TensorId state : *states)
      if (tensors[state].flat != weight.shard)
        return fmt::format("{} is not sharded along `shard`", tensors[state].name);
  return {};
}

[[nodiscard]] std::string wrong_weights(const Step& step) {
  const auto& blocks = step.graph.blocks;
  if (step.weights.size() != blocks.size())
    return fmt::format("{} of {} blocks", step.weights.size(), blocks.size());
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (step.weights[i].size() < blocks[i].weights.size())
      return fmt::format("{} lacks weights", blocks[i].name);
    for (const TrainedWeight& weight : step.weights[i]) {
      std::string out = wrong_weight(step, weight);
      if (!out.empty()) return out;
    }
  }
  return {};
}

[[nodiscard]] std::string wrong_routines(const Step& step) {
  const auto& blocks = step.graph.blocks;
  if (step.routines.size() != blocks.size())
    return fmt::format("{} of {} blocks", step.routines.size(), blocks.size());
  const auto size = [&step](RoutineId id) { return step.program.routines[id].operations.size(); };
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const Step::BlockRoutines& of = step.routines[i];
    std::size_t backward = size(of.backward);
    if (step.parallel.calls_weight_gradients()) backward += size(of.weight_gradients);
    if (size(of.forward) != blocks[i].forward.size() || backward != blocks[i].backward.size())
      return fmt::format("the routines of {} are not its operations", blocks[i].name);
  }
  return {};
}

/// The calls of forward, backward and weight gradients on one stage.
class StageOrder {
 public:
  StageOrder(const Step& step, std::size_t stage) : step_{step}, stage_{stage} {
    const auto& calls = step.stages[stage].calls;
    for (std::size_t i = 0; i < calls.size(); ++i) {
      if (calls[i].work == CallWork::other) continue;
      places_[{calls[i].call.position, calls[i].call.microbatch}][calls[i].work].push_back(i);
    }
  }

  [[nodiscard]] std::string wrong() {
    std::size_t expected = 0;
    for (std::size_t chunk = 0; chunk < step_.chunks.size(); ++chunk) {
      if (owner(chunk) != static_cast<int>(stage_)) continue;
      const auto [first, last] = step_.chunks[chunk];
      const auto [begin, end] = microbatches_of(chunk);
      for (int position = first; position < last; ++position) {
        for (int m = begin; m < end; ++m, ++expected) {
          if (!in_order(places_[{position, m}]))
            return fmt::format(
                "stage {}: position {} of microbatch {} is not once forward, then "
                "once backward",
                stage_, position, m);
        }
      }
    }
    if (places_.size() == expected) return {};
    return fmt::format("stage {} computes positions of others", stage_);
  }

 private:
  using Places = std::map<CallWork, std::vector<std::size_t>>;

  [[nodiscard]] int owner(std::size_t chunk) const {
    return stage_of_chunk(step_.parallel.schedule, step_.parallel.pp, static_cast<int>(chunk));
  }

  /// First, and one past the last; each copy of the model has its half of them.
  [[nodiscard]] std::pair<int, int> microbatches_of(std::size_t chunk) const {
    const auto all = static_cast<int>(step_.parallel.microbatches());
    if (step_.parallel.stage_copies() == 1) return {0, all};
    const bool second = chunk >= static_cast<std::size_t>(step_.parallel.pp);
    return second ? std::pair{all / 2, all} : std::pair{0, all / 2};
  }

  [[nodiscard]] bool in_order(Places& at) const {
    const std::size_t halves = step_.parallel.calls_weight_gradients() ? 1 : 0;
    if (at[CallWork::forward].size() != 1 || at[CallWork::backward].size() != 1) return false;
    if (at[CallWork::weight_gradient].size() != halves) return false;
    if (at[CallWork::backward].front() < at[CallWork::forward].front()) return false;
    return halves == 0 || at[CallWork::weight_gradient].front() > at[CallWork::backward].front();
  }

  const Step& step_;
  std::size_t stage_;
  std::map<std::pair<int, int>, Places> places_;
};

/// How often a neighbor may get the same position of a microbatch: once, and once more for every
/// round of chunks without layers that only pass it on.
[[nodiscard]] int most_passes(const Step& step) {
  const auto empty = std::ranges::count_if(
      step.chunks, [](const auto& chunk) { return chunk.first == chunk.second; });
  return 1 + static_cast<int>(empty) / static_cast<int>(step.stages.size());
}

/// Messages between stages: what one sends, its neighbor receives, once.
[[nodiscard]] std::string unpaired_message(const Step& step) {
  // (forward, of a shared activation, position, microbatch): from which place in the pipeline to
  // which, as the senders say and as the receivers say; several where chunks without layers pass
  // an activation on.
  struct Ends {
    std::multiset<std::pair<int, int>> sent;
    std::multiset<std::pair<int, int>> received;
  };
  const auto stages = static_cast<int>(step.stages.size());
  std::map<std::tuple<bool, bool, int, int>, Ends> all;
  for (int stage = 0; stage < stages; ++stage) {
    const int here = place_of_stage(step.parallel.schedule, stages, stage);
    for (const ScriptCall& call : step.stages[static_cast<std::size_t>(stage)].calls) {
      if (call.work != CallWork::other) continue;
      for (const Operation& each : step.program.routines[call.call.routine].operations) {
        const bool send = each.kind == OperationKind::send;
        if (!send && each.kind != OperationKind::receive) continue;
        const bool forward = each.name.ends_with(".forward");
        const bool shared = carried(each).position.has_value();
        Ends& ends = all[{forward, shared, call.call.position, call.call.microbatch}];
        const int there = (here + each.communication->offset + stages) % stages;
        if (send) {
          ends.sent.emplace(here, there);
        } else {
          ends.received.emplace(there, here);
        }
      }
    }
  }
  const auto most = static_cast<std::size_t>(most_passes(step));
  for (const auto& [key, ends] : all) {
    const bool often = std::ranges::any_of(
        ends.sent, [&](const auto& each) { return ends.sent.count(each) > most; });
    if (ends.sent == ends.received && !often) continue;
    const auto& [forward, shared, position, microbatch] = key;
    return fmt::format("position {} of microbatch {} is sent {} times {}, received {} times",
                       position, microbatch, ends.sent.size(), forward ? "forward" : "backward",
                       ends.received.size());
  }
  return {};
}

[[nodiscard]] std::string wrong_order(const Step& step) {
  if (step.stages.size() != static_cast<std::size_t>(step.parallel.pp))
    return fmt::format("{} stages", step.stages.size());
  for (std::size_t stage = 0; stage < step.stages.size(); ++stage) {
    std::string out = StageOrder{step, stage}.wrong();
    if (!out.empty()) return out;
  }
  return unpaired_message(step);
}

/// Operations of one stage's script that write a tensor at a position, with their call's index.
class Writers {
 public:
  Writers(const Step& step, const StageScript& stage) {
    for (std::size_t i = 0; i < stage.calls.size(); ++i) {
      const Call& call = stage.calls[i].call;
      for (const Operation& operation : step.program.routines[call.routine].operations)
        for (const Ref& ref : operation.writes)
          by_tensor_[{ref.tensor, ref.position.value_or(call.position + ref.further)}].push_back(
              {i, &operation});
    }
  }

  struct Writer {
    std::size_t call = 0;
    const Operation* operation = nullptr;
  };
  [[nodiscard]] const std::vector<Writer>& of(const Ref& ref) const {
    static const std::vector<Writer> nothing;
    const auto found = by_tensor_.find({ref.tensor, *ref.position});
    return found == by_tensor_.end() ? nothing : found->second;
  }

 private:
  std::map<std::pair<TensorId, int>, std::vector<Writer>> by_tensor_;
};

/// Sub-axes over which a gradient is summed after the last backward pass of its position.
[[nodiscard]] MeshSubAxes summed_over(const Step& step, const Writers& writers,
                                      const TrainedWeight& weight, int position,
                                      std::size_t after) {
  MeshSubAxes out;
  for (const TensorId tensor : std::set{weight.scattered, weight.summed}) {
    for (const auto& [call, operation] : writers.of(step.at(tensor, weight, position))) {
      if (operation->kind != OperationKind::collective || call < after) continue;
      const MeshSubAxes& over = operation->communication->over;
      out.insert(out.end(), over.begin(), over.end());
    }
  }
  return sorted(out);
}

/// Sub-axes over which it should be. Replicas that are averaged train apart.
[[nodiscard]] MeshSubAxes replicas_of(const Step& step, const TrainedWeight& weight) {
  MeshSubAxes out = weight.within;
  if (step.parallel.exchange != GradientExchange::parameter_averaging)
    out.insert(out.end(), weight.over.begin(), weight.over.end());
  const SharedWeight* shared = step.graph.shared_weight(weight.weight);
  const auto elsewhere = [&](int other) {
    return step.stage_of(other) != step.stage_of(shared->positions.front());
  };
  const Mesh& mesh = step.program.mesh;
  const MeshSubAxes pp = without(mesh.axis("pp"), mesh.axis("copies"));
  if (shared != nullptr &&
      std::any_of(shared->positions.begin(), shared->positions.end(), elsewhere))
    out.insert(out.end(), pp.begin(), pp.end());
  return sorted(out);
}

template <class Wrong>
[[nodiscard]] std::string first_wrong_weight(const Step& step, Wrong&& wrong) {
  for (std::size_t i = 0; i < step.stages.size(); ++i) {
    const Writers writers{step, step.stages[i]};
    for (const auto& [position, after] : finished_positions(step.stages[i])) {
      for (const TrainedWeight& weight : step.trained_at(position)) {
        const std::string why = wrong(writers, weight, position, after);
        if (why.empty()) continue;
        return fmt::format("stage {}, position {}, {}: {}", i, position,
                           step.graph.tensors[weight.weight].name, why);
      }
    }
  }
  return {};
}

[[nodiscard]] std::string partial_gradient(const Step& step) {
  return first_wrong_weight(step,
                            [&step](const Writers& writers, const TrainedWeight& weight,
                                    int position, std::size_t after) -> std::string {
                              const MeshSubAxes is =
                                  summed_over(step, writers, weight, position, after);
                              const MeshSubAxes should = replicas_of(step, weight);
                              if (is == should) return {};
                              const Mesh& mesh = step.program.mesh;
                              return fmt::format("the gradient is summed over [{}] instead of [{}]",
                                                 mesh.name(is), mesh.name(should));
                            });
}

[[nodiscard]] bool updates(const Operation& operation) {
  switch (operation.kind) {
    case OperationKind::update:
      return operation.optimizer != Optimizer::outer;
    case OperationKind::host_copy:
      return true;
    case OperationKind::collective:  // from a parameter server
      return operation.communication->host.has_value();
    default:
      return false;
  }
}

[[nodiscard]] std::string not_updated(const Step& step) {
  return first_wrong_weight(
      step,
      [&step](const Writers& writers, const TrainedWeight& weight, int position,
              std::size_t) -> std::string {
        std::size_t count = 0;
        for (const auto& [call, operation] : writers.of(step.at(weight.kept, weight, position)))
          if (updates(*operation)) ++count;
        if (count != 1) return fmt::format("{} updates", count);
        if (weight.kept == weight.weight || step.parallel.zero == 3) return {};
        std::size_t gathers = 0;
        for (const auto& [call, operation] : writers.of(step.at(weight.weight, weight, position)))
          if (operation->kind == OperationKind::collective) ++gathers;
        return gathers == 1 ? "" : fmt::format("gathered {} times", gathers);
      });
}

[[nodiscard]] std::string incomplete(const Step& step) {
  const Program& program = step.program;
  for (const Routine& routine : program.routines)
    for (const Operation& operation : routine.operations)
      if (operation.stream >= program.streams.size())
        return fmt::format("{} of {} has no stream", operation.name, routine.name);
  std::string out = any_misfit(step, program.tensors);
  if (!out.empty()) return out;
  try {
    (void)unroll(program);
  } catch (const InternalError& error) {
    return error.what();
  }
  return {};
}

}  // namespace

std::span<const FactCheck> fact_checks() {
  static constexpr std::array kChecks{
      FactCheck{Fact::one_device, "one_device", not_one_device},
      FactCheck{Fact::reads_defined, "reads_defined", undefined_read},
      FactCheck{Fact::sharded, "sharded", misplaced},
      FactCheck{Fact::weights_listed, "weights_listed", wrong_weights},
      FactCheck{Fact::routines_made, "routines_made", wrong_routines},
      FactCheck{Fact::stages_ordered, "stages_ordered", wrong_order},
      FactCheck{Fact::gradients_whole, "gradients_whole", partial_gradient},
      FactCheck{Fact::weights_updated, "weights_updated", not_updated},
      FactCheck{Fact::complete, "complete", incomplete},
  };
  return kChecks;
}

}  // namespace lockstep
