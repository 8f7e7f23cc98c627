#include "strategies/step/build_program.hpp"

#include "sim/base/check.hpp"
#include "strategies/layout/training_step_assembly.hpp"
#include "strategies/models/build_model.hpp"
#include "strategies/pipeline/recompute.hpp"
#include "strategies/pipeline/split_backward.hpp"
#include "strategies/sharding/device_mesh.hpp"
#include "strategies/sharding/expert_load.hpp"
#include "strategies/sharding/ring_attention.hpp"
#include "strategies/sharding/sharding_rules.hpp"

namespace lockstep {

namespace {

[[nodiscard]] BuildOptions build_options(const ParallelConfig& parallel) {
  const bool fp8 = parallel.precision == Dtype::fp8;
  const Dtype kept = fp8 ? Dtype::bf16 : parallel.precision;
  BuildOptions out;
  out.batch = parallel.micro_batch * parallel.dp;
  out.activations = kept;
  out.weights = parallel.state.weights;
  out.gradients = parallel.state.gradients;
  out.math = parallel.precision;
  out.microbatches = parallel.microbatches();
  out.capacity_factor = parallel.capacity_factor;
  out.token_parts =
      std::int64_t{parallel.dp} * parallel.cp * (parallel.sequence_parallel ? parallel.tp : 1);
  out.form = parallel.form;
  return out;
}

void make_routines(TrainingStepAssembly& step) {
  const bool split = step.parallel.pp > 1 && step.parallel.schedule >= PipelineOrder::zb_h1;
  for (const Block& block : step.graph.blocks) {
    TrainingStepAssembly::BlockRoutines routines;
    routines.forward = step.program.add(Routine{block.name + ".forward", block.forward});
    if (split) {
      SplitBackward halves = split_backward(step.graph, block);
      routines.backward = step.program.add(
          Routine{block.name + ".input_gradients", std::move(halves.input_gradients)});
      routines.weight_gradients = step.program.add(
          Routine{block.name + ".weight_gradients", std::move(halves.weight_gradients)});
    } else {
      routines.backward = step.program.add(Routine{block.name + ".backward", block.backward});
    }
    step.routines.push_back(routines);
  }
}

void make_roles(TrainingStepAssembly& step) {
  const MeshSubAxes pp = step.program.mesh.axis("pp");
  for (int stage = 0; stage < step.parallel.pp; ++stage) {
    Role role;
    role.name = step.parallel.pp > 1 ? "stage " + std::to_string(stage) : "rank";
    if (!pp.empty()) role.fixed.emplace_back(pp.front(), stage);
    step.program.roles.push_back(std::move(role));
  }
}

/// What becomes of gradients and weights.
void train(TrainingStepAssembly& step) {
  switch (step.parallel.exchange) {
    case GradientExchange::parameter_server:
      train_on_servers(step);
      return;
    case GradientExchange::host_average:
      average_on_host(step);
      break;
    case GradientExchange::parameter_averaging:
      scale_for_averaging(step);
      break;
    case GradientExchange::all_reduce:
      exchange_gradients(step);
      break;
  }
  finish_gradients(step);
  update_weights(step);
  const bool averages = step.parallel.exchange == GradientExchange::parameter_averaging;
  if (averages && step.parallel.averages) average_weights(step);
}

void weigh_traffic(Program& program, const std::map<std::string, TrafficWeight>& by_group) {
  if (by_group.empty()) return;
  for (Routine& routine : program.routines)
    for (Operation& operation : routine.operations) {
      if (!operation.communication) continue;
      const auto found = by_group.find(operation.communication->group);
      if (found != by_group.end()) operation.communication->traffic_weight = found->second;
    }
}

void finish(TrainingStepAssembly& step) {
  step.program.tensors = std::move(step.graph.tensors);
  for (const StageScript& stage : step.stages) {
    for (const ScriptCall& call : stage.calls) {
      step.program.roles[stage.role].calls.push_back(call.call);
    }
  }
  assign_streams(step.program, step.parallel);
  weigh_traffic(step.program, step.parallel.traffic_weights);
}

[[nodiscard]] BlockWeight block_weight(const TrainingStepAssembly& step,
                                       const TrainedWeight& weight) {
  const auto tensor = [&](TensorId id) -> const Tensor& { return step.graph.tensors[id]; };
  const auto bytes = [&](TensorId id, std::int64_t elements) {
    return elements * bytes_per_element(tensor(id).dtype);
  };
  BlockWeight out;
  out.elements = unflattened_elements(step.program.mesh, tensor(weight.weight));
  out.weight_bytes = bytes(weight.weight, out.elements);
  out.gradient_bytes = bytes(weight.gradient, out.elements);
  for (const TensorId state : weight.states)
    if (!tensor(state).on_host) out.state_bytes += bytes(state, out.elements);
  const Mesh& mesh = step.program.mesh;
  out.of_experts = mesh.size(weight.over) < mesh.size(mesh.axis("dp_cp"));
  out.tied = step.graph.tied && weight.weight == step.graph.tied->weight;
  return out;
}

/// Before the tensors are moved into the program.
[[nodiscard]] std::vector<BlockOfProgram> blocks_of(const TrainingStepAssembly& step) {
  std::vector<BlockOfProgram> out;
  for (std::size_t i = 0; i < step.graph.blocks.size(); ++i) {
    const Block& block = step.graph.blocks[i];
    const TrainingStepAssembly::BlockRoutines& routines = step.routines[i];
    BlockOfProgram of{routines.forward,     routines.backward,    {}, block.input, block.output,
                      block.input_gradient, block.output_gradient};
    if (routines.weight_gradients != 0) of.weight_gradients = routines.weight_gradients;
    for (const TrainedWeight& weight : step.weights[i])
      of.weights.push_back(block_weight(step, weight));
    out.push_back(std::move(of));
  }
  return out;
}

}  // namespace

Program build_program(const ModelConfig& model, const ParallelConfig& parallel, int gpus_per_node) {
  return build_blocks(model, parallel, gpus_per_node).program;
}

ProgramOfBlocks build_blocks(const ModelConfig& model, const ParallelConfig& parallel,
                             int gpus_per_node) {
  const TransformerConfig* transformer = model.transformer();
  ProgramOfBlocks out;
  Program& program = out.program;
  program.mesh = device_mesh(parallel, transformer ? transformer->kv_heads : 0, gpus_per_node);
  ModelGraph graph = build_model(model, build_options(parallel));
  propagate_sharding(graph, program.mesh, sharding_rules(parallel, program.mesh));
  if (transformer != nullptr) load_experts(graph, program.mesh, parallel, *transformer);
  ring_attention(graph, program.mesh,
                 parallel.zigzag && transformer != nullptr && transformer->causal);
  recompute(graph, parallel.recompute, parallel.form.stops_early);

  TrainingStepAssembly step{parallel, graph, program};
  step.chunks = chunk_positions(graph, parallel);
  find_trained_weights(step);
  reshard_after_forward(step);
  cast_gathered_weights(step);
  make_routines(step);
  make_roles(step);
  order_pipeline(step);
  gather_weights(step);
  cast_weights(step);
  train(step);
  out.blocks = blocks_of(step);
  out.chain = graph.chain;
  finish(step);
  return out;
}

}  // namespace lockstep
