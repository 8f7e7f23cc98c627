#include "strategies/pipeline/split_backward.hpp"

#include <algorithm>
#include <set>

#include "strategies/layout/passes.hpp"
#include "strategies/pipeline/delayed_weight_gradients.hpp"

namespace lockstep {

SplitBackward split_backward(const ModelGraph& graph, const Block& block) {
  // Backwards: an operation belongs to the first half where that reads what it writes, or where it
  // makes the gradient of the block's input, or of what it reads of another.
  using Key = std::pair<TensorId, int>;
  std::set<Key> first_half_reads;
  if (block.input_gradient) first_half_reads.insert({*block.input_gradient, 0});
  if (graph.shared) first_half_reads.insert({graph.shared->gradient, 0});
  std::vector<bool> first(block.backward.size(), false);
  for (std::size_t i = block.backward.size(); i-- > 0;) {
    const Operation& operation = block.backward[i];
    if (computes_weight_gradients(graph.tensors, operation)) continue;
    first[i] = std::any_of(operation.writes.begin(), operation.writes.end(), [&](const Ref& ref) {
      return first_half_reads.contains({ref.tensor, ref.further});
    });
    if (!first[i]) continue;
    for (const Ref& ref : operation.reads) first_half_reads.insert({ref.tensor, ref.further});
  }
  SplitBackward out;
  for (std::size_t i = 0; i < block.backward.size(); ++i) {
    (first[i] ? out.input_gradients : out.weight_gradients).push_back(block.backward[i]);
  }
  return out;
}

void make_routines(TrainingStepAssembly& step) {
  Program& program = step.program;
  for (const Block& block : step.graph.blocks) {
    TrainingStepAssembly::BlockRoutines routines;
    routines.forward = program.add(Routine{block.name + ".forward", block.forward});
    if (step.parallel.splits_backward()) {
      SplitBackward halves = split_backward(step.graph, block);
      routines.backward =
          program.add(Routine{block.name + ".input_gradients", std::move(halves.input_gradients)});
      routines.weight_gradients = program.add(
          Routine{block.name + ".weight_gradients", std::move(halves.weight_gradients)});
    } else if (step.parallel.delay_wgrad_compute) {
      DelayedBackward parts = delay_weight_gradients(step.graph, block);
      routines.backward = program.add(Routine{block.name + ".backward", std::move(parts.backward)});
      routines.weight_gradients =
          program.add(Routine{block.name + ".weight_gradients", std::move(parts.weight_gradients)});
    } else {
      routines.backward = program.add(Routine{block.name + ".backward", block.backward});
    }
    step.routines.push_back(routines);
  }
}

}  // namespace lockstep
