#include <doctest/doctest.h>

#include <functional>
#include <string>
#include <vector>

#include "strategies/verification/verify_strategy.hpp"
#include "tests/strategies/step/random_layouts.hpp"
#include "tests/strategies/step/step_under_test.hpp"
#include "tests/strategies/verification/small_cases.hpp"

// Muon on many ranks beside Muon on one device, whose matrices are all whole. Bounds: DEFINITIONS'.
namespace lockstep {
namespace {

ParallelConfig muon(int dp, int zero) {
  ParallelConfig out;
  out.dp = dp;
  out.zero = zero;
  out.micro_batch = 1;
  out.state.optimizer = Optimizer::muon;
  return out;
}

VerificationReport verified(const ParallelConfig& parallel,
                            const TransformerConfig& shape = test::gpt()) {
  return test::verified(parallel, shape, 3);
}

TEST_CASE("Muon: copies, and shards of every ZeRO stage, train as one device") {
  for (const int zero : {0, 1, 2, 3}) {
    for (const bool master : {true, false}) {
      CAPTURE(zero);
      CAPTURE(master);
      ParallelConfig parallel = muon(4, zero);
      parallel.state.master = master;
      const VerificationReport report = verified(parallel);
      CHECK(report.problem() == "");
      REQUIRE(report.state);  // momentum, and Adam's moments of the others
      CHECK(report.state->value >= 0);
    }
  }
}

/// 3 layers: 12 matrices of 8 x 8 on 5 owners, 3 of 8 x 32, so that two own none.
TEST_CASE("Muon: owners of unequal shares, shards that are padded") {
  for (const int zero : {0, 1, 3}) {
    CAPTURE(zero);
    CHECK(verified(muon(5, zero)).problem() == "");
  }
  ParallelConfig cut = muon(4, 1);
  cut.scatter_gradients = false;
  cut.state.master = false;
  CHECK(verified(cut).problem() == "");
  ParallelConfig hybrid = muon(4, 2);
  hybrid.shard_ranks = 2;
  CHECK(verified(hybrid).problem() == "");
  ParallelConfig hides = muon(4, 1);
  hides.overlap = {Overlap::dp_gradients, Overlap::dp_parameters};
  CHECK(verified(hides).problem() == "");
}

TEST_CASE("Muon: tensor parallelism gathers every matrix, whichever side it cuts") {
  for (const int zero : {0, 1}) {
    CAPTURE(zero);
    ParallelConfig tensor = muon(2, zero);
    tensor.tp = 2;
    tensor.sequence_parallel = zero == 1;
    CHECK(verified(tensor).problem() == "");
    TransformerConfig grouped = test::gpt();
    grouped.kv_heads = 2;
    grouped.gated = true;
    grouped.function = ActivationFunction::swiglu;
    tensor.tp = 4;
    CHECK(verified(tensor, grouped).problem() == "");
  }
  ParallelConfig alone = muon(1, 0);
  alone.tp = 2;
  CHECK(verified(alone).problem() == "");
}

/// Of experts over two ranks that are cut over two.
ParallelConfig cut_experts(MuonBlocks blocks) {
  ParallelConfig out = muon(2, 1);
  out.tp = 2;
  out.ep = 2;
  out.state.muon_blocks = blocks;
  return out;
}

TransformerConfig with_experts() {
  TransformerConfig out = test::gpt();
  out.experts = ExpertsConfig{.experts = 4, .top_k = 2, .ffn = 8};
  return out;
}

/// Dense models, and experts, whose matrices are cut over tensor-parallel ranks.
void check_blocks(MuonBlocks blocks) {
  TransformerConfig grouped = test::gpt();
  grouped.kv_heads = 2;
  grouped.gated = true;
  grouped.function = ActivationFunction::swiglu;
  for (const int zero : {0, 1, 3}) {
    for (const int tp : {2, 4}) {
      CAPTURE(zero);
      CAPTURE(tp);
      ParallelConfig tensor = muon(3, zero);
      tensor.tp = tp;
      tensor.sequence_parallel = tp == 2;
      tensor.state.muon_blocks = blocks;
      CHECK(verified(tensor).problem() == "");
      CHECK(verified(tensor, grouped).problem() == "");
    }
  }
  CHECK(verified(cut_experts(blocks), with_experts()).problem() == "");
}

TEST_CASE("Muon: tensor-parallel ranks orthogonalize their blocks, with Gram matrices of all") {
  check_blocks(MuonBlocks::distributed);
}

// One device takes the blocks of each matrix as matrices of their own.
TEST_CASE("Muon: tensor-parallel ranks orthogonalize their blocks as matrices of their own") {
  check_blocks(MuonBlocks::blockwise);
  ParallelConfig experts = cut_experts(MuonBlocks::blockwise);
  experts.etp = 1;
  experts.sequence_parallel = true;
  CHECK(verified(experts, with_experts()).problem() == "");
}

TEST_CASE("Muon: pipelines, context parallelism, experts, tied embeddings, DiLoCo") {
  ParallelConfig pipeline = muon(2, 1);
  pipeline.pp = 3;
  pipeline.schedule = PipelineOrder::one_f_one_b;
  TransformerConfig tied = test::gpt();
  tied.tied_embeddings = true;
  CHECK(verified(pipeline, tied).problem() == "");
  ParallelConfig context = muon(2, 2);
  context.cp = 2;
  CHECK(verified(context).problem() == "");
  for (const int zero : {0, 1}) {
    ParallelConfig experts = muon(4, zero);
    experts.ep = 2;
    CHECK(verified(experts, with_experts()).problem() == "");
    experts.tp = 2;
    experts.dp = 2;
    experts.etp = 1;
    experts.sequence_parallel = true;
    CHECK(verified(experts, with_experts()).problem() == "");
  }
  ParallelConfig apart = muon(4, 1);
  apart.exchange = GradientExchange::diloco;
  apart.outer_replicas = 2;
  apart.average_every = 2;
  CHECK(verified(apart).problem() == "");
}

TEST_CASE("Muon in random layouts trains as one device does, and runs as simulated") {
  VerificationOptions options;
  options.steps = 2;
  options.stage = test::four_nodes();
  int done = 0;
  for (const test::RandomLayout& drawn : test::random_layouts(20261123, 16)) {
    test::RandomLayout layout = test::shrunk(drawn);
    layout.parallel.state.optimizer = Optimizer::muon;
    layout.parallel.state.offload = false;
    layout.parallel.update = UpdateStart::after_all;
    if (done % 3 == 0) layout.parallel.state.muon_blocks = MuonBlocks::distributed;
    if (done % 3 == 1) layout.parallel.state.muon_blocks = MuonBlocks::blockwise;
    layout.parallel.state.muon_syrk = done % 2 == 0;
    if (!possible(layout)) continue;
    CAPTURE(test::to_string(layout));
    options.order_seed = static_cast<std::uint64_t>(++done);
    CHECK(verify_strategy(layout.model, layout.parallel, 8, options).problem() == "");
  }
  CHECK(done >= 9);
}

/// The first operation of that name, changed.
VerificationReport with_mistake(const ParallelConfig& of, const std::string& name,
                                const std::function<void(Operation&)>& change) {
  ParallelConfig parallel = of;
  parallel.global_batch = 2L * parallel.dp;
  VerificationOptions options;
  options.steps = 2;
  options.change = [&](Program& program) {
    for (Routine& routine : program.routines)
      for (Operation& operation : routine.operations)
        if (operation.name == name) return change(operation);
    FAIL("no ", name);
  };
  return verify_strategy(test::transformer(test::gpt()), parallel, 8, options);
}

TEST_CASE("Muon with a mistake does not pass") {
  const ParallelConfig sharded = muon(4, 1);
  CHECK(with_mistake(sharded, "orthogonalize", [](Operation& it) {
          it.kind = OperationKind::slice;
        }).problem() != "");
  CHECK(with_mistake(sharded, "orthogonalize", [](Operation& it) {
          it.matrices->iterations = 4;
        }).problem() != "");
  CHECK(with_mistake(sharded, "orthogonalize", [](Operation& it) {
          it.matrices->rows /= 2;  // of half of each matrix alone
        }).problem() != "");
  CHECK(with_mistake(sharded, "send_to_owners", [](Operation& it) {
          it.communication->over.clear();
        }).problem() != "");
  CHECK(with_mistake(sharded, "send_updates", [](Operation& it) {
          std::swap(it.communication->cut, it.communication->joined);
        }).problem() != "");
  CHECK(with_mistake(sharded, "momentum", [](Operation& it) {
          std::swap(it.reads[1], it.reads[3]);  // of two weights
        }).problem() != "");
  CHECK(with_mistake(sharded, "reduce_gradients", [](Operation& it) {
          it.communication->over.clear();
        }).problem() != "");
  ParallelConfig tensor = muon(2, 0);
  tensor.tp = 2;
  // As blocks of their own.
  CHECK(with_mistake(tensor, "orthogonalize", [](Operation& it) {
          std::swap(it.matrices->row_parts, it.matrices->column_parts);
        }).problem() != "");
  ParallelConfig blocks = muon(1, 0);
  blocks.tp = 2;
  blocks.state.muon_blocks = MuonBlocks::distributed;
  CHECK(with_mistake(blocks, "reduce_gram", [](Operation& it) {
          it.communication->over.clear();
        }).problem() != "");
  CHECK(with_mistake(blocks, "orthogonalize", [](Operation& it) {
          it.matrices->normalized = true;
        }).problem() != "");
  blocks.state.muon_blocks = MuonBlocks::blockwise;
  CHECK(with_mistake(blocks, "orthogonalize", [](Operation& it) {
          it.matrices->columns_apart = 2;  // blocks of blocks
        }).problem() != "");
  CHECK(with_mistake(tensor, "gather_updates", [](Operation& it) {
          it.communication->over.clear();
        }).problem() != "");
}

}  // namespace
}  // namespace lockstep
