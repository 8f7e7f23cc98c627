#include <array>
#include <map>
#include <set>
#include <vector>

#include "strategies/layout/passes.hpp"

namespace lockstep {

namespace {

/// A GEMM whose second operand comes in 8 bits from a cast before it.
[[nodiscard]] bool takes_cast_weight(const Operation& operation) {
  return operation.kind == OperationKind::matmul && operation.math && is_narrow(*operation.math) &&
         operation.at_hand[1];
}

/// Inserts a call that casts the weights of a block before its first forward call on every stage:
/// in the first microbatch, as Transformer Engine does.
class WeightCasts {
 public:
  explicit WeightCasts(TrainingStepAssembly& step) : step_{step} {}

  void run() {
    for (StageScript& stage : step_.stages) {
      std::set<int> cast;
      std::vector<ScriptCall> out;
      for (const ScriptCall& call : stage.calls) {
        const bool first = call.work == CallWork::forward && cast.insert(call.call.position).second;
        if (first) add(call.call, out);
        out.push_back(call);
      }
      stage.calls = std::move(out);
    }
  }

 private:
  void add(const Call& before, std::vector<ScriptCall>& out) {
    const int block = step_.graph.chain[static_cast<std::size_t>(before.position)];
    auto found = routines_.find(block);
    if (found == routines_.end()) {
      found =
          routines_.emplace(block, step_.program.add(routine(step_.block(before.position)))).first;
    }
    if (step_.program.routines[found->second].operations.empty()) return;
    out.push_back({CallWork::other, {found->second, before.position, before.microbatch}});
  }

  /// One cast for each GEMM, or each group of them that is one kernel. Weights that are kept in 8
  /// bits come so from their update.
  [[nodiscard]] Routine routine(const Block& block) {
    Routine out{block.name + ".cast_weights", {}};
    std::map<int, std::size_t> groups;
    for (const Operation& gemm : block.forward) {
      if (!takes_cast_weight(gemm)) continue;
      const Ref weight = read_of(gemm, Operand::b);
      if (is_narrow(step_.graph.tensors[weight.tensor].dtype)) continue;
      const bool joined = gemm.fused > 0 && groups.contains(gemm.fused);
      if (!joined) {
        if (gemm.fused > 0) groups[gemm.fused] = out.operations.size();
        out.operations.push_back(cast(gemm));
      }
      Operation& operation = joined ? out.operations[groups.at(gemm.fused)] : out.operations.back();
      operation.reads.push_back(weight);
      keep(weight, *gemm.math, operation);
    }
    // The block runs, and casts, when its input is there.
    for (Operation& operation : out.operations) {
      if (block.input) operation.reads.push_back({.tensor = *block.input});
    }
    return out;
  }

  /// What is cast is held from step to step, in memory that the cast names. GEMMs read the weight,
  /// so that results are those of its precision.
  void keep(const Ref& weight, Dtype math, Operation& cast) {
    constexpr std::array kSuffixes{".cast", ".cast_columns"};
    const auto copies = static_cast<std::size_t>(step_.parallel.recipe.kept_weights);
    for (std::size_t i = 0; i < copies; ++i) {
      Tensor copy = step_.graph.tensors[weight.tensor];
      copy.name += kSuffixes.at(i);
      copy.dtype = math;
      copy.category = Category::buffer;
      Ref ref = weight;
      ref.tensor = static_cast<TensorId>(step_.graph.tensors.size());
      step_.graph.tensors.push_back(std::move(copy));
      cast.reads.push_back(ref);
    }
  }

  [[nodiscard]] static Operation cast(const Operation& gemm) {
    Operation out;
    out.kind = OperationKind::cast;
    out.name = gemm.name + ".cast_weight";
    out.math = gemm.math;
    return out;
  }

  TrainingStepAssembly& step_;
  std::map<int, RoutineId> routines_;
};

}  // namespace

void cast_gathered_weights(TrainingStepAssembly& step) {
  std::set<TensorId> gathered;
  for (const auto& block : step.weights) {
    for (const TrainedWeight& weight : block) {
      if (!weight.shard.empty()) gathered.insert(weight.weight);
    }
  }
  for (const auto& [weight, again] : step.backward_weights) gathered.insert(again);
  for (Block& block : step.graph.blocks) {
    std::set<TensorId> cast;
    for (auto* operations : {&block.forward, &block.backward}) {
      for (Operation& operation : *operations) {
        if (!takes_cast_weight(operation)) continue;
        const TensorId weight = read_of(operation, Operand::b).tensor;
        if (gathered.contains(weight)) operation.at_hand[1] = !cast.insert(weight).second;
      }
    }
  }
}

void cast_weights(TrainingStepAssembly& step) {
  WeightCasts{step}.run();
}

}  // namespace lockstep
