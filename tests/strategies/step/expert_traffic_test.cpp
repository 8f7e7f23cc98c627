#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "tests/strategies/step/fold/fold_harness.hpp"
#include "tests/strategies/step/step_under_test.hpp"
#include "topologies/devices/device.hpp"

/// Tokens of experts: what travels, what the host waits for, and what is computed meanwhile.
namespace lockstep::test {
namespace {

/// 16 experts in 4 groups of which a token goes to 2, to 4 experts; 2 layers.
ModelConfig model() {
  TransformerConfig shape;
  shape.layers = 2;
  shape.hidden = 64;
  shape.heads = 4;
  shape.sequence = 64;
  shape.vocabulary = 128;
  shape.bias = false;
  shape.experts =
      ExpertsConfig{.experts = 16, .top_k = 4, .ffn = 64, .groups = 4, .group_top_k = 2};
  return transformer(shape);
}

/// 16 ranks, or 2 stages of 16, with all experts among each 16: two nodes.
ParallelConfig layout(int pp = 1) {
  ParallelConfig out;
  out.dp = 16;
  out.pp = pp;
  out.ep = 16;
  out.micro_batch = 1;
  out.global_batch = 16 * 8;
  if (pp > 1) {
    out.vpp = 2;
    out.schedule = PipelineOrder::dualpipe_v;
  }
  return out;
}

/// One stage of 16 ranks, two of two chunks, and two with a chunk of each copy of the model.
std::vector<ParallelConfig> layouts() {
  std::vector<ParallelConfig> out{layout(1), layout(2), layout(2)};
  out.back().vpp = 1;
  out.back().schedule = PipelineOrder::dualpipe;
  return out;
}

FoldCase on_dgx(const ParallelConfig& parallel, ModelConfig of = model()) {
  FoldCase out{"", {}, cluster_of("dgx-h100", parallel.ranks())};
  out.layout.model = std::move(of);
  out.layout.parallel = parallel;
  out.device.multiprocessors = 132;
  return out;
}

Duration step_time(const ParallelConfig& parallel, ModelConfig of = model()) {
  return simulated_step(on_dgx(parallel, std::move(of)), Folding::off).timeline.end.since_start();
}

ModelConfig deep_model() {
  ModelConfig out = model();
  std::get<TransformerConfig>(out.shape).layers = 8;
  return out;
}

TEST_CASE("deepep, pairs and counts are the same with ranks folded") {
  for (const bool pairs : {false, true}) {
    for (ParallelConfig parallel : layouts()) {
      for (const Dispatcher dispatcher : {Dispatcher::all_to_all, Dispatcher::deepep}) {
        parallel.dispatcher = dispatcher;
        parallel.overlap = pairs ? std::set{Overlap::ep_pairs, Overlap::pp} : std::set<Overlap>{};
        parallel.token_counts = {Collective::all_gather, true};
        parallel.form.router_weights = RouterWeights::activation;
        const FoldOutcome outcome = hold_against_unfolded(on_dgx(parallel, deep_model()));
        CHECK(outcome.difference == "");
        // A ring over both copies of a stage tells all ranks apart.
        if (parallel.stage_copies() == 1) CHECK(outcome.classes < outcome.ranks);
      }
    }
  }
}

TEST_CASE("all all-to-alls of tokens are deepep's, with both levels, and no others") {
  ParallelConfig parallel = layout();
  parallel.dispatcher = Dispatcher::deepep;
  parallel.form.router_weights = RouterWeights::activation;
  const TrainingStepUnderTest step{model(), parallel};
  int there = 0;
  int back = 0;
  int of_weights = 0;
  for (const Message& message : step.messages()) {
    const bool slots = message.group() == "ep" && message.collective() == Collective::all_to_all;
    const auto& copies = message.operation->communication->copies;
    CHECK(copies.has_value() == slots);
    if (copies) ++(copies->returns ? back : there);
    if (slots && message.operation->reads.size() == 2) ++of_weights;
  }
  // Weights there and their gradients back are in the messages of the tokens.
  CHECK(of_weights == 8 * 2 * 2);
  // 8 microbatches of 2 layers, forward and backward.
  CHECK(there == 8 * 2 * 2);
  CHECK(back == there);
  const SimulatedTrainingStep simulated = simulated_step(on_dgx(parallel), Folding::off);
  const auto by = std::count_if(simulated.algorithms.begin(), simulated.algorithms.end(),
                                [](const ReportedChoice& each) {
                                  return each.group == "ep" && each.algorithm == "deepep:nodes=2";
                                });
  CHECK(by == 2);  // one way and the other
}

TEST_CASE("computation during deepep runs on the multiprocessors that are left") {
  ParallelConfig parallel = layout();
  parallel.dispatcher = Dispatcher::deepep;
  parallel.overlap = {Overlap::ep_pairs};
  parallel.dispatch_sms = 1;
  const Duration few = step_time(parallel);
  parallel.dispatch_sms = 66;
  const Duration half = step_time(parallel);
  CHECK(half > few);
  // Nothing is computed beside them in turn.
  parallel.overlap = {};
  const Duration apart = step_time(parallel);
  parallel.dispatch_sms = 1;
  CHECK(step_time(parallel) == apart);
}

TEST_CASE("two microbatches in turn hide all-to-alls behind each other's computation") {
  for (ParallelConfig parallel : layouts()) {
    const Duration apart = step_time(parallel, deep_model());
    parallel.overlap = {Overlap::ep};
    const Duration within = step_time(parallel, deep_model());
    parallel.overlap = {Overlap::ep_pairs};
    const Duration pairs = step_time(parallel, deep_model());
    CHECK(within <= apart);
    CHECK(pairs < within);
  }
}

TEST_CASE("counts and weights of tokens are messages of their own") {
  ParallelConfig parallel = layout();
  const TrainingStepUnderTest without{model(), parallel};
  const Traffic tokens = without.traffic("ep", Collective::all_to_all);
  CHECK(without.traffic("ep", Collective::all_gather).count == 0);
  // To experts and back, forward and backward; 8 microbatches of 2 layers.
  CHECK(tokens.count == 4 * 8 * 2);
  parallel.token_counts = {Collective::all_gather, true};
  parallel.form.router_weights = RouterWeights::activation;
  const TrainingStepUnderTest with{model(), parallel};
  // 16 counts of 8 bytes from each of 16 ranks, before each dispatch.
  CHECK(with.traffic("ep", Collective::all_gather) == Traffic{8 * 2, 8 * 2 * 16 * 16 * 8});
  // 64 tokens' 4 weights of 4 bytes, there and the gradients back.
  const Traffic both = with.traffic("ep", Collective::all_to_all);
  CHECK(both.count == tokens.count + 2 * 8 * 2);
  CHECK(both.bytes == tokens.bytes + 2 * 8 * 2 * 64 * 4 * 4);
  // Each rank's 16 counts of 8 bytes, each to where its expert is.
  parallel.token_counts = {Collective::all_to_all, true};
  parallel.form.router_weights = RouterWeights::results;
  const TrainingStepUnderTest exchanged{model(), parallel};
  CHECK(exchanged.traffic("ep", Collective::all_to_all) ==
        Traffic{tokens.count + 8 * 2, tokens.bytes + 8 * 2 * 16 * 8});
}

}  // namespace
}  // namespace lockstep::test
