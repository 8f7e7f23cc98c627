#include "strategies/step/build_program.hpp"

#include <algorithm>

#include "strategies/layout/settled_recipe.hpp"
#include "strategies/models/build_model.hpp"
#include "strategies/sharding/device_mesh.hpp"
#include "strategies/sharding/placement.hpp"
#include "strategies/step/run_passes.hpp"

namespace lockstep {

namespace {

[[nodiscard]] BuildOptions build_options(const ParallelConfig& parallel) {
  const Dtype kept = is_narrow(parallel.precision) ? Dtype::bf16 : parallel.precision;
  BuildOptions out;
  out.batch = parallel.micro_batch * parallel.dp;
  out.activations = kept;
  out.weights = parallel.state.weights;
  out.gradients = parallel.written_gradients();
  out.math = parallel.precision;
  out.microbatches = parallel.microbatches();
  out.capacity_factor = parallel.capacity_factor;
  out.token_parts =
      std::int64_t{parallel.dp} * parallel.cp * (parallel.sequence_parallel ? parallel.tp : 1);
  out.form = parallel.form;
  if (is_narrow(parallel.precision)) out.recipe = settled_recipe(parallel);
  return out;
}

[[nodiscard]] BlockWeight block_weight(const TrainingStepAssembly& step,
                                       const TrainedWeight& weight) {
  const auto tensor = [&](TensorId id) -> const Tensor& { return step.program.tensors[id]; };
  const auto bytes = [&](TensorId id, std::int64_t elements) {
    return storage(tensor(id).dtype, elements).count();
  };
  BlockWeight out;
  out.elements = unflattened_elements(step.program.mesh, tensor(weight.weight));
  out.weight_bytes = bytes(weight.weight, out.elements);
  out.gradient_bytes = bytes(weight.gradient, out.elements);
  for (const TensorId state : weight.states)
    if (!tensor(state).on_host) out.state_bytes += bytes(state, out.elements);
  const Mesh& mesh = step.program.mesh;
  const MeshSubAxes replicas = without(weight.over, mesh.axis("copies"));
  out.of_experts = mesh.size(replicas) < mesh.size(mesh.axis("dp_cp"));
  out.shared = step.graph.shared_weight(weight.weight) != nullptr;
  return out;
}

[[nodiscard]] std::vector<BlockOfProgram> blocks_of(const TrainingStepAssembly& step) {
  std::vector<BlockOfProgram> out;
  for (std::size_t i = 0; i < step.graph.blocks.size(); ++i) {
    const Block& block = step.graph.blocks[i];
    const TrainingStepAssembly::BlockRoutines& routines = step.routines[i];
    BlockOfProgram of{routines.forward,     routines.backward,    {}, block.input, block.output,
                      block.input_gradient, block.output_gradient};
    if (routines.weight_gradients != 0) of.weight_gradients = routines.weight_gradients;
    const bool is_last = static_cast<int>(i) == step.graph.chain.back();
    for (const TrainedWeight& weight : step.weights[i]) {
      const auto& own = block.weights;
      const bool lists = std::find(own.begin(), own.end(), weight.weight) != own.end();
      if (lists || is_last) of.weights.push_back(block_weight(step, weight));
    }
    out.push_back(std::move(of));
  }
  return out;
}

/// For start_step(), which keeps a reference.
[[nodiscard]] ParallelConfig with_settled_recipe(const ParallelConfig& parallel) {
  ParallelConfig out = parallel;
  out.recipe = settled_recipe(parallel);
  return out;
}

/// Drops the passes backward and what they send and receive.
void keep_forward(TrainingStepAssembly& step) {
  const auto goes = [&](const ScriptCall& call) {
    if (call.work == CallWork::backward || call.work == CallWork::weight_gradient) return true;
    const std::vector<Operation>& operations = step.program.routines[call.call.routine].operations;
    return std::any_of(operations.begin(), operations.end(), [](const Operation& each) {
      const bool message = each.kind == OperationKind::send || each.kind == OperationKind::receive;
      return message && each.name.ends_with(".backward");
    });
  };
  for (StageScript& stage : step.stages) {
    std::erase_if(stage.calls, goes);
    for (ScriptCall& call : stage.calls) call.pair = 0;
  }
}

/// Those of kStrategyPasses that have to do with forward passes.
[[nodiscard]] std::vector<StrategyPass> forward_passes() {
  std::vector<StrategyPass> out;
  for (const StrategyPass& pass : kStrategyPasses) {
    const bool after_backward =
        pass.needs.has(Fact::gradients_whole) || pass.needs.has(Fact::weights_updated) ||
        pass.gives.has(Fact::gradients_whole) || pass.gives.has(Fact::weights_updated);
    const bool gathers = pass.run == gather_weights || pass.run == cast_weights;
    const bool reduces = pass.precedes.has(Fact::gradients_whole) && pass.run != order_pipeline;
    const bool finishes = pass.run == finish_program;
    if ((after_backward || reduces) && !gathers && !finishes) continue;
    out.push_back(pass);
    if (pass.run == order_pipeline) {
      // Each position is passed forward alone, which is not what stages_ordered says.
      out.back().gives = {};
      out.push_back({"keep_forward", keep_forward, step_passes::always});
    }
    if (gathers || finishes) out.back().needs = {Fact::weights_listed};
  }
  return out;
}

}  // namespace

void finish_program(TrainingStepAssembly& step) {
  step.program.tensors = std::move(step.graph.tensors);
  for (const StageScript& stage : step.stages)
    for (const ScriptCall& call : stage.calls)
      step.program.roles[stage.role].calls.push_back(call.call);
}

Program build_program(const ModelConfig& model, const ParallelConfig& parallel, int gpus_per_node,
                      const BuildProgramOptions& options) {
  return build_blocks(model, parallel, gpus_per_node, options).program;
}

TrainingStepAssembly start_step(const ModelConfig& model, const ParallelConfig& parallel,
                                int gpus_per_node) {
  const TransformerConfig* transformer = model.transformer();
  TrainingStepAssembly out{.model = model, .parallel = parallel};
  if (is_narrow(parallel.precision)) out.program.casts = parallel.recipe.casts;
  out.program.mesh = device_mesh(parallel, transformer ? transformer->kv_heads : 0, gpus_per_node);
  out.graph = build_model(model, build_options(parallel));
  return out;
}

Program build_forward_program(const ModelConfig& model, const ParallelConfig& parallel,
                              int gpus_per_node) {
  const ParallelConfig settled = with_settled_recipe(parallel);
  TrainingStepAssembly step = start_step(model, settled, gpus_per_node);
  run_passes(step, forward_passes());
  return std::move(step.program);
}

Bytes weight_bytes(const ModelConfig& model, const ParallelConfig& parallel) {
  const ModelGraph graph = build_model(model, build_options(parallel));
  Bytes out;
  for (const int kind : graph.chain) {
    for (const TensorId id : graph.blocks[static_cast<std::size_t>(kind)].weights) {
      const Tensor& weight = graph.tensors[id];
      out += storage(weight.dtype, global_elements(weight));
    }
  }
  return out;
}

ProgramOfBlocks build_blocks(const ModelConfig& model, const ParallelConfig& parallel,
                             int gpus_per_node, const BuildProgramOptions& options) {
  const ParallelConfig settled = with_settled_recipe(parallel);
  TrainingStepAssembly step = start_step(model, settled, gpus_per_node);
  step.ends_with_average = options.ends_with_average;
  step.fragment = options.fragment;
  run_passes(step, kStrategyPasses, options.checks_passes);
  ProgramOfBlocks out;
  out.blocks = blocks_of(step);
  out.between_stacks = between_stacks(step.graph);
  out.chain = std::move(step.graph.chain);
  out.program = std::move(step.program);
  return out;
}

}  // namespace lockstep
