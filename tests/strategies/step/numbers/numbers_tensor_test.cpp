#include <doctest/doctest.h>

#include "tests/strategies/step/numbers/numbers_harness.hpp"

// Tensor and sequence parallelism, and whole models, against one device.
namespace lockstep::test {
namespace {

TEST_CASE("tensor parallelism computes what one device does") {
  ParallelConfig parallel = layout();
  parallel.tp = 2;
  check(model_of(gpt()), parallel);
  check(model_of(llama()), parallel);
  parallel.tp = 4;
  check(model_of(gpt()), parallel);
  check(model_of(llama()), parallel);  // more ranks than heads of keys and values
}

TEST_CASE("sequence parallelism computes what one device does") {
  ParallelConfig parallel = layout();
  parallel.sequence_parallel = true;
  for (const int tp : {2, 4}) {
    parallel.tp = tp;
    check(model_of(gpt()), parallel);
    check(model_of(llama()), parallel);
  }
}

// Copies of the logits, zeros read beside them, GEMMs of one input that stand alone, and a
// second forward pass that ends early change memory and time, and no number.
TEST_CASE("in whatever form software lays a step down, it computes what one device does") {
  for (const LossForm loss : {LossForm::wide_logits, LossForm::wide_steps}) {
    ParallelConfig parallel = layout(2);
    parallel.form = {.loss = loss, .joined_gemms = false, .stops_early = true};
    parallel.recompute = Recompute::full;
    parallel.tp = 2;
    check(model_of(gpt()), parallel);
    parallel.sequence_parallel = true;
    check(model_of(llama()), parallel);
    parallel.zero = 3;
    check(model_of(experts(llama())), parallel);
    parallel.zero = 0;
    parallel.pp = 2;
    parallel.schedule = PipelineOrder::zb_h1;
    check(model_of(llama()), parallel);
  }
}

// What is gathered is kept, and copies put parts in order: torch/distributed/
// _functional_collectives.py. Recomputation redoes some of them.
TEST_CASE("tensor parallelism by distributed tensors computes what one device does") {
  for (const Recompute recompute : {Recompute::none, Recompute::every_second_gemm, Recompute::full})
    for (const bool in_parts : {false, true}) {
      ParallelConfig parallel = layout(2);
      parallel.form = {.joined_gemms = false, .stops_early = true, .distributed_tensors = true};
      parallel.recompute = recompute;
      parallel.tp = 2;
      if (in_parts) parallel.overlap.insert(Overlap::tp);
      check(model_of(gpt()), parallel);
      parallel.sequence_parallel = true;
      check(model_of(llama()), parallel);
      parallel.zero = 3;
      check(model_of(experts(llama())), parallel);
    }
}

TEST_CASE("latent attention computes what one device does") {
  for (const std::int64_t query_rank : {0, 8}) {
    TransformerConfig shape = llama();
    shape.kv_heads = 4;
    shape.head_size = 6;
    shape.latent = LatentAttention{
        .query_rank = query_rank, .kv_rank = 8, .key_size = 4, .rotary_size = 2, .value_size = 4};
    const ModelConfig model = model_of(shape);
    ParallelConfig parallel = layout(2);
    parallel.tp = 2;
    check(model, parallel);
    parallel.sequence_parallel = true;
    check(model, parallel);
    parallel.zero = 3;
    check(model, parallel);
    check(model, context(ContextKind::ring, 4, true));
    check(model, context(ContextKind::ulysses, 2, false));
  }
}

TEST_CASE("an MLP computes what one device does") {
  ParallelConfig parallel = layout(2);
  check(mlp(), parallel);
  parallel.tp = 4;
  check(mlp(), parallel);
  parallel.zero = 2;
  check(mlp(), parallel);
  parallel.pp = 2;
  parallel.schedule = PipelineOrder::one_f_one_b;
  check(mlp(), parallel);
}

TEST_CASE("tied embeddings compute what one device does") {
  TransformerConfig shape = gpt();
  shape.tied_embeddings = true;
  for (const int pp : {1, 2, 4}) {
    for (const int zero : {0, 1, 2, 3}) {
      CAPTURE(pp);
      CAPTURE(zero);
      ParallelConfig parallel = layout(2);
      parallel.pp = pp;
      parallel.schedule = pp > 1 ? PipelineOrder::one_f_one_b : PipelineOrder::none;
      parallel.zero = zero;
      check(model_of(shape), parallel);
      parallel.tp = 2;
      parallel.sequence_parallel = true;
      check(model_of(shape), parallel);
    }
  }
}

TEST_CASE("recomputation computes what one device does") {
  for (const AttentionKind kind : {AttentionKind::flash, AttentionKind::unfused}) {
    for (const Recompute how : {Recompute::none, Recompute::selective, Recompute::full}) {
      CAPTURE(static_cast<int>(kind));
      CAPTURE(static_cast<int>(how));
      TransformerConfig shape = gpt();
      shape.attention = kind;
      shape.dropout = 0.2;
      ParallelConfig parallel = layout(2);
      parallel.recompute = how;
      check(model_of(shape), parallel);
      parallel.tp = 2;
      parallel.sequence_parallel = true;
      parallel.zero = 3;
      check(model_of(shape), parallel);
      check(model_of(experts(shape)), parallel);
    }
  }
}

}  // namespace
}  // namespace lockstep::test
