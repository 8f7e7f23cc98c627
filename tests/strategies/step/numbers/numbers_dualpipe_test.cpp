#include <doctest/doctest.h>

#include "tests/strategies/step/numbers/numbers_harness.hpp"

// DualPipe against one device: both copies of each stage have the weights of one device after
// steps in which each copy saw half of the microbatches.
namespace lockstep::test {
namespace {

/// The fewest microbatches, of one sequence for each replica.
[[nodiscard]] ParallelConfig dualpipe(int pp, int dp = 1) {
  ParallelConfig out = layout(dp);
  out.pp = pp;
  out.schedule = PipelineOrder::dualpipe;
  out.micro_batch = 1;
  out.global_batch = std::int64_t{2} * pp * dp;
  return out;
}

[[nodiscard]] TransformerConfig small(TransformerConfig of) {
  of.hidden = 8;
  of.sequence = 8;
  of.ffn = 12;
  return of;
}

TEST_CASE("DualPipe computes what one device does, embeddings tied or not") {
  for (const int pp : {2, 4}) {
    for (const bool tied : {false, true}) {
      for (const int more : {0, 2}) {
        CAPTURE(pp);
        CAPTURE(tied);
        ParallelConfig parallel = dualpipe(pp);
        parallel.global_batch += more;
        TransformerConfig shape = small(gpt());
        shape.tied_embeddings = tied;
        check(model_of(shape), parallel);
        if (more > 0) parallel.overlap = {Overlap::pp};
        check(model_of(small(llama())), parallel, 7);
      }
    }
  }
}

TEST_CASE("DualPipe with replicas, sharded over them and over both copies, does, too") {
  for (const int dp : {1, 2}) {
    for (const int zero : {0, 1, 2, 3}) {
      for (const int shards : {0, 2, 1}) {
        if (zero == 0 && shards > 0) continue;
        CAPTURE(dp);
        CAPTURE(zero);
        CAPTURE(shards);
        ParallelConfig parallel = dualpipe(4, dp);
        parallel.zero = zero;
        parallel.shard_ranks = shards;
        TransformerConfig shape = small(gpt());
        shape.tied_embeddings = true;
        check(model_of(shape), parallel);
        parallel.overlap = {Overlap::dp_gradients, Overlap::dp_parameters, Overlap::hsdp};
        parallel.reduce_gradients = GradientReduction::last_microbatch;
        parallel.update = UpdateStart::by_bucket;
        parallel.order = {"pp", "dp", "tp", "cp"};
        check(model_of(small(llama())), parallel);
      }
    }
  }
}

TEST_CASE("DualPipe with buckets of whole chunks, slices of gradients and states on the host") {
  for (const bool offload : {false, true}) {
    CAPTURE(offload);
    ParallelConfig parallel = dualpipe(4, 2);
    parallel.zero = 1;
    parallel.scatter_gradients = false;
    parallel.state.offload = offload;
    parallel.bucket_form.whole_chunks = true;
    parallel.overlap = {Overlap::dp_gradients, Overlap::pp};
    TransformerConfig shape = small(gpt());
    shape.tied_embeddings = true;
    check(model_of(shape), parallel);
    parallel.scatter_gradients = true;
    parallel.bucket = Bytes{1000};
    check(model_of(shape), parallel);
  }
}

TEST_CASE("DualPipe with stages of unequal layers, of none at one end") {
  ParallelConfig parallel = dualpipe(4);
  parallel.stages = {0, 1, 2, 1};
  parallel.zero = 1;
  check(model_of(small(gpt())), parallel);
  parallel.stages.clear();
  parallel.short_edges = true;
  TransformerConfig shape = small(llama());
  shape.layers = 6;
  check(model_of(shape), parallel);
}

TEST_CASE("DualPipe beside tensor, sequence and context parallelism, with recomputation") {
  for (const Recompute recompute : {Recompute::none, Recompute::selective, Recompute::full}) {
    ParallelConfig parallel = dualpipe(2);
    parallel.recompute = recompute;
    parallel.tp = 2;
    parallel.sequence_parallel = true;
    parallel.overlap = {Overlap::tp};
    check(model_of(small(gpt())), parallel);
    parallel.cp = 2;
    parallel.zero = 1;
    check(model_of(small(llama())), parallel);
  }
}

TEST_CASE("DualPipe with experts, all-to-alls beside the other microbatch of a pair or not") {
  for (const bool pairs : {false, true}) {
    for (const int zero : {0, 1, 2}) {
      CAPTURE(pairs);
      CAPTURE(zero);
      ParallelConfig parallel = dualpipe(2, 2);
      parallel.ep = 2;
      parallel.zero = zero;
      if (pairs) parallel.overlap = {Overlap::ep_pairs, Overlap::pp};
      TransformerConfig shape = small(experts(llama()));
      check(model_of(shape), parallel);
      shape.mtp = TokenPrediction{.layers = 1, .loss_scaling_factor = 0.3};
      parallel.pp = 4;
      parallel.global_batch = std::int64_t{2} * 4 * 2;
      check(model_of(shape), parallel, 3);
    }
  }
}

TEST_CASE("DualPipe with Muon") {
  for (const int zero : {0, 1}) {
    ParallelConfig parallel = dualpipe(2, 2);
    parallel.zero = zero;
    parallel.state.optimizer = Optimizer::muon;
    check(model_of(small(gpt())), parallel);
  }
}

}  // namespace
}  // namespace lockstep::test
