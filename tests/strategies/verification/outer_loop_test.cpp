#include <doctest/doctest.h>

#include <functional>
#include <string>
#include <vector>

#include "strategies/verification/verify_strategy.hpp"
#include "tests/strategies/step/step_under_test.hpp"
#include "tests/strategies/verification/small_cases.hpp"

// DiLoCo beside its mathematics in one process: replicas that train apart, and on them SGD with
// Nesterov momentum (Douillard et al., arXiv 2311.08105, algorithm 1). Bounds: DEFINITIONS'.
namespace lockstep {
namespace {

ParallelConfig diloco(int dp, int replicas, int every) {
  ParallelConfig out;
  out.dp = dp;
  out.exchange = GradientExchange::diloco;
  out.outer_replicas = replicas;
  out.average_every = every;
  out.micro_batch = 1;
  out.state.optimizer = Optimizer::momentum;
  return out;
}

VerificationReport verified(const ParallelConfig& parallel,
                            const TransformerConfig& shape = test::gpt()) {
  return test::verified(parallel, shape, 5);
}

TEST_CASE("DiLoCo is as its algorithm in one process, however often it takes an outer step") {
  for (const int every : {1, 2, 3}) {
    for (const bool master : {false, true}) {
      CAPTURE(every);
      CAPTURE(master);
      ParallelConfig parallel = diloco(4, 2, every);
      parallel.state.master = master;
      const VerificationReport report = verified(parallel);
      CHECK(report.problem() == "");
      REQUIRE(report.state);
      CHECK(report.state->value >= 0);
      // The outer learning rate is not 1, so that even every step it is not the mean of gradients.
      CHECK(*report.from_one_device > 1e-6);
    }
  }
}

TEST_CASE("DiLoCo: every replica alone, three of them, and with Adam") {
  ParallelConfig alone = diloco(3, 0, 2);
  CHECK(alone.outer_degree() == 3);
  CHECK(verified(alone).problem() == "");
  ParallelConfig adam = diloco(6, 3, 2);
  adam.state.optimizer = Optimizer::adam;
  CHECK(verified(adam).problem() == "");
}

TEST_CASE("DiLoCo: gradients that are all-reduced and then cut, batch norm rank by rank") {
  ParallelConfig cut = diloco(4, 2, 2);
  cut.zero = 1;
  cut.scatter_gradients = false;
  CHECK(verified(cut).problem() == "");
  const ResNetConfig shape{.stages = {1, 1}, .width = 2, .image = 10, .classes = 5};
  ModelConfig model;
  model.name = "resnet";
  model.shape = shape;
  ParallelConfig images = diloco(4, 2, 2);
  images.micro_batch = 2;
  images.global_batch = 16;
  VerificationOptions options;
  options.steps = 3;
  CHECK(verify_strategy(model, images, 8, options).problem() == "");
}

TEST_CASE("DiLoCo: outer gradients as they are sent") {
  for (const Dtype dtype : {Dtype::bf16, Dtype::nvfp4}) {
    for (const bool travels : {false, true}) {
      ParallelConfig parallel = diloco(4, 2, 2);
      parallel.outer_gradients = dtype;
      parallel.zero = 1;
      if (travels) parallel.overlap = {Overlap::outer};
      CHECK(verified(parallel).problem() == "");
    }
  }
}

TEST_CASE("DiLoCo with the weights of the last outer step on hosts") {
  for (const int zero : {0, 1, 3}) {
    for (const bool travels : {false, true}) {
      for (const int fragments : {1, 2}) {
        CAPTURE(zero);
        CAPTURE(travels);
        CAPTURE(fragments);
        ParallelConfig parallel = diloco(4, 2, 3);
        parallel.outer_on_host = true;
        parallel.zero = zero;
        parallel.fragments = fragments;
        parallel.state.master = zero != 3;
        if (travels) parallel.overlap = {Overlap::outer};
        CHECK(verified(parallel).problem() == "");
      }
    }
  }
}

TEST_CASE("DiLoCo over shards, hybrid ones too, updated and gathered in every way") {
  for (const int zero : {1, 2, 3}) {
    for (const int shards : {0, 2}) {
      for (const bool hides : {false, true}) {
        CAPTURE(zero);
        CAPTURE(shards);
        CAPTURE(hides);
        ParallelConfig parallel = diloco(8, 2, 2);
        parallel.zero = zero;
        parallel.shard_ranks = shards;
        parallel.state.master = shards == 0;
        if (hides)
          parallel.overlap = {Overlap::dp_gradients, Overlap::dp_parameters, Overlap::outer};
        CHECK(verified(parallel).problem() == "");
      }
    }
  }
}

TEST_CASE("DiLoCo with tensor, context and pipeline parallelism, tied embeddings, by bucket") {
  ParallelConfig tensor = diloco(2, 2, 2);
  tensor.tp = 2;
  tensor.sequence_parallel = true;
  tensor.update = UpdateStart::by_bucket;
  CHECK(verified(tensor).problem() == "");
  ParallelConfig context = diloco(4, 2, 2);
  context.cp = 2;
  context.zero = 2;
  CHECK(verified(context).problem() == "");
  TransformerConfig tied = test::gpt();
  tied.tied_embeddings = true;
  ParallelConfig pipeline = diloco(2, 2, 3);
  pipeline.pp = 3;
  pipeline.schedule = PipelineOrder::one_f_one_b;
  pipeline.fragments = 2;
  CHECK(verified(pipeline, tied).problem() == "");
}

TEST_CASE("DiLoCo: experts are distributed over the ranks that train together") {
  TransformerConfig shape = test::gpt();
  shape.experts = ExpertsConfig{};
  shape.experts->experts = 4;
  shape.experts->top_k = 2;
  shape.experts->ffn = 8;
  ParallelConfig parallel = diloco(4, 2, 2);
  parallel.ep = 2;
  CHECK(verified(parallel, shape).problem() == "");
}

TEST_CASE("Streaming DiLoCo: fragments in turn, applied at once or after a step") {
  for (const int every : {2, 3, 4}) {
    for (const bool travels : {false, true}) {
      CAPTURE(every);
      CAPTURE(travels);
      ParallelConfig parallel = diloco(4, 2, every);
      parallel.fragments = 2;
      parallel.zero = every == 3 ? 1 : 0;
      if (travels) parallel.overlap = {Overlap::outer};
      CHECK(verified(parallel).problem() == "");
    }
  }
}

TEST_CASE("fragments take turns, the last in the last step, and other steps have none") {
  ParallelConfig parallel = diloco(2, 2, 5);
  parallel.fragments = 3;
  std::vector<int> turns;
  for (int step = 1; step <= 10; ++step)
    turns.push_back(parallel.synchronized_fragment(step).value_or(-1));
  // 5/3 and 10/3, rounded down, and 5.
  CHECK(turns == std::vector{0, -1, 1, -1, 2, 0, -1, 1, -1, 2});
}

/// The first operation of that name, changed.
VerificationReport with_mistake(const std::string& name,
                                const std::function<void(Operation&)>& change) {
  ParallelConfig parallel = diloco(4, 2, 1);
  parallel.global_batch = 8;
  VerificationOptions options;
  options.steps = 2;
  options.change = [&](Program& program) {
    for (Routine& routine : program.routines)
      for (Operation& operation : routine.operations)
        if (operation.name == name) return change(operation);
  };
  return verify_strategy(test::transformer(test::gpt()), parallel, 8, options);
}

TEST_CASE("DiLoCo with a mistake does not pass") {
  const auto other_factor = [](Operation& it) { it.factor *= 1.001; };
  const auto alone = [](Operation& it) { it.communication->over.clear(); };
  CHECK(with_mistake("negate_weight", other_factor).problem() != "");
  CHECK(with_mistake("mean_outer_gradient", other_factor).problem() != "");
  CHECK(with_mistake("outer_to_master", other_factor).problem() != "");
  CHECK(with_mistake("loss.sum.backward", other_factor).problem() != "");
  CHECK(with_mistake("reduce_outer_gradients", alone).problem() != "");
  CHECK(with_mistake("outer_update", [](Operation& it) {
          it.optimizer = Optimizer::momentum;
        }).problem() != "");
}

}  // namespace
}  // namespace lockstep
