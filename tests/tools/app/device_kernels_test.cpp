#include "tools/app/validate/device_kernels.hpp"

#include <doctest/doctest.h>

#include "strategies/step/build_program.hpp"

/// The oracle is the training step: what it computes for the same attention and experts.
namespace lockstep::app {

namespace {

TransformerConfig shape() {
  TransformerConfig out;
  out.layers = 1;
  out.hidden = 256;
  out.heads = 8;
  out.kv_heads = 8;
  out.head_size = 32;
  out.sequence = 512;
  out.ffn = 1024;
  out.vocabulary = 1000;
  return out;
}

std::vector<Kernel> kernels_of(const TransformerConfig& of, OperationKind kind) {
  ModelConfig model;
  model.name = "of a test";
  model.shape = of;
  ParallelConfig layout;
  layout.micro_batch = layout.global_batch = 4;
  const Program program = build_program(model, layout, 8);
  std::vector<Kernel> out;
  for (const Routine& routine : program.routines)
    for (std::size_t i = 0; i < routine.operations.size(); ++i)
      if (routine.operations[i].kind == kind) out.push_back(kernel_of(program, routine, i));
  return out;
}

DeviceTable table_of(const TransformerConfig& of) {
  DeviceTable out;
  out.kind = DeviceQuantity::attention;
  out.causal = true;
  out.backward = true;
  out.heads = of.heads;
  out.kv_heads = of.kv_heads;
  out.head_size = out.value_head_size = of.head_size;
  return out;
}

void check_same(const Kernel& table, const Kernel& step) {
  CHECK(table.kind == step.kind);
  CHECK(table.batches == step.batches);
  CHECK(table.m == step.m);
  CHECK(table.n == step.n);
  CHECK(table.k == step.k);
  CHECK(table.flops == doctest::Approx(step.flops));
}

void check_attention(const TransformerConfig& of, const DeviceTable& table) {
  DevicePoint point;
  point.batch = 4;
  point.seq = of.sequence;
  const std::vector<Kernel> both = attention_kernels(table, point, Dtype::bf16);
  REQUIRE(both.size() == 2);
  const auto forward = kernels_of(of, OperationKind::attention);
  const auto backward = kernels_of(of, OperationKind::attention_backward);
  REQUIRE(forward.size() == 1);
  REQUIRE(backward.size() == 1);
  check_same(both[0], forward[0]);
  check_same(both[1], backward[0]);
  // Forward, the step also writes a statistic of every row of scores, in fp32.
  const double statistics = 4.0 * 4 * static_cast<double>(of.heads * of.sequence);
  CHECK(both[0].moved_bytes == doctest::Approx(forward[0].moved_bytes - statistics));
}

}  // namespace

TEST_CASE("attention of a table is that of a training step") {
  check_attention(shape(), table_of(shape()));
}

TEST_CASE("attention of a table with fewer heads of keys and values is that of a training step") {
  TransformerConfig of = shape();
  of.kv_heads = 2;
  check_attention(of, table_of(of));
}

TEST_CASE("attention of a table with its own size of values is that of latent attention") {
  TransformerConfig of = shape();
  of.latent = LatentAttention{.kv_rank = 64, .key_size = 128, .rotary_size = 64, .value_size = 128};
  of.head_size = 128 + 64;
  of.positions = Positions::rotary;
  DeviceTable table = table_of(of);
  table.value_head_size = 128;
  check_attention(of, table);
}

TEST_CASE("a grouped product of a table is that of the experts of a training step") {
  TransformerConfig of = shape();
  of.experts = ExpertsConfig{.experts = 8, .top_k = 2, .ffn = 64};
  DevicePoint point;
  point.groups = 8;
  point.m = 4 * of.sequence * 2 / 8;
  point.n = 64;
  point.k = of.hidden;
  const Kernel table = gemm_kernel(point, Dtype::bf16);
  std::size_t equal = 0;
  for (const Kernel& step : kernels_of(of, OperationKind::matmul))
    if (step.batches == 8 && step.m == point.m && step.n == point.n && step.k == point.k) {
      check_same(table, step);
      ++equal;
    }
  CHECK(equal > 0);
}

}  // namespace lockstep::app
