#include "strategies/measure/machine_runs/small_programs.hpp"

#include <algorithm>

#include "strategies/measure/machine_runs/time_operation.hpp"
#include "strategies/step/build_program.hpp"

namespace lockstep {

namespace {

[[nodiscard]] TensorId add(Program& program, std::string name, Dtype dtype,
                           std::vector<Extent> extents) {
  Tensor tensor;
  tensor.name = std::move(name);
  tensor.scope = Scope::step;
  tensor.dtype = dtype;
  tensor.extents = std::move(extents);
  tensor.resident = true;
  return program.add(std::move(tensor));
}

[[nodiscard]] Operation operation_of(OperationKind kind, const std::vector<TensorId>& reads,
                                     const std::vector<TensorId>& writes) {
  Operation out;
  out.kind = kind;
  out.name = std::string{to_string(kind)};
  for (const TensorId id : reads) out.reads.push_back({id});
  for (const TensorId id : writes) out.writes.push_back({id});
  return out;
}

void finish(Program& program, Routine routine) {
  const RoutineId id = program.add(std::move(routine));
  Role role;
  role.name = "alone";
  role.calls = {{id, 0, 0}};
  program.roles.push_back(std::move(role));
}

/// Backends execute every GEMM as a kernel of its own.
void separate_gemms(Program& program) {
  for (Routine& routine : program.routines)
    for (Operation& operation : routine.operations) operation.fused = 0;
}

/// A training step with Adam, on one device.
template <class Shape>
[[nodiscard]] Program step_of(const char* name, const Shape& shape, std::int64_t batch,
                              Dtype dtype) {
  ModelConfig model;
  model.name = name;
  model.shape = shape;
  ParallelConfig parallel;
  parallel.micro_batch = batch;
  parallel.global_batch = batch;
  if (dtype == Dtype::fp32) {
    parallel.precision = Dtype::fp32;
    parallel.state.weights = Dtype::fp32;
    parallel.state.gradients = Dtype::fp32;
  }
  Program out = in_precision(build_program(model, parallel, 1), dtype);
  separate_gemms(out);
  return out;
}

}  // namespace

Program gemm_program(std::int64_t m, std::int64_t n, std::int64_t k, Dtype dtype) {
  Program out;
  const TensorId a = add(out, "a", dtype, {{Dim::sequence, m}, {Dim::hidden, k}});
  const TensorId b = add(out, "b", dtype, {{Dim::hidden, k}, {Dim::ffn, n}});
  const TensorId y = add(out, "y", dtype, {{Dim::sequence, m}, {Dim::ffn, n}});
  Operation gemm = operation_of(OperationKind::matmul, {a, b}, {y});
  gemm.math = dtype;
  finish(out, {"product", {std::move(gemm)}});
  return out;
}

Program attention_program(const AttentionShape& of, Dtype dtype) {
  Program out;
  const auto rows = [&](std::string name, Dim heads) {
    return add(out, std::move(name), dtype,
               {{Dim::batch, of.batch},
                {Dim::sequence, of.sequence},
                {heads, of.heads},
                {Dim::head_size, of.head_size}});
  };
  const TensorId q = rows("q", Dim::heads);
  const TensorId k = rows("k", Dim::kv_heads);
  const TensorId v = rows("v", Dim::kv_heads);
  const TensorId o = rows("o", Dim::heads);
  const TensorId g_o = rows("g_o", Dim::heads);
  const TensorId g_q = rows("g_q", Dim::heads);
  const TensorId g_k = rows("g_k", Dim::kv_heads);
  const TensorId g_v = rows("g_v", Dim::kv_heads);
  const TensorId statistics =
      add(out, "statistics", Dtype::fp32,
          {{Dim::batch, of.batch}, {Dim::heads, of.heads}, {Dim::sequence, of.sequence}});
  Operation forward = operation_of(OperationKind::attention, {q, k, v}, {o, statistics});
  Operation backward = operation_of(OperationKind::attention_backward,
                                    {q, k, v, o, statistics, g_o}, {g_q, g_k, g_v});
  backward.purpose = Purpose::backward;
  for (Operation* each : {&forward, &backward}) {
    each->causal = of.causal;
    each->math = dtype;
  }
  finish(out, {"attention", {forward, backward}});
  return out;
}

Program transformer_program(const TransformerShape& of, Dtype dtype) {
  TransformerConfig shape;
  shape.layers = of.layers;
  shape.hidden = of.hidden;
  shape.heads = of.heads;
  shape.kv_heads = of.heads;
  shape.head_size = of.hidden / of.heads;
  shape.ffn = of.llama ? (of.hidden * 8 / 3 + 63) / 64 * 64 : 4 * of.hidden;
  shape.gated = of.llama;
  shape.bias = !of.llama;
  shape.norm = of.llama ? Normalization::rms : Normalization::layer;
  shape.function = of.llama ? ActivationFunction::swiglu : ActivationFunction::gelu;
  shape.positions = of.llama ? Positions::rotary : Positions::learned;
  shape.sequence = of.sequence;
  shape.vocabulary = of.vocabulary;
  shape.attention = of.unfused ? AttentionKind::unfused : AttentionKind::flash;
  shape.dropout = of.dropout;
  if (of.experts > 0) {
    shape.experts = ExpertsConfig{};
    shape.experts->experts = of.experts;
    shape.experts->top_k = std::min<std::int64_t>(2, of.experts);
    shape.experts->ffn = of.hidden;
  }
  return step_of(of.llama ? "llama" : "gpt", shape, of.micro_batch, dtype);
}

Program image_program(const ImageShape& of, Dtype dtype) {
  ResNetConfig shape;
  shape.image = of.image;
  shape.width = of.width;
  shape.classes = of.classes;
  shape.frames = 2;
  shape.temporal_shift = true;
  return step_of("resnet", shape, of.micro_batch, dtype);
}

}  // namespace lockstep
