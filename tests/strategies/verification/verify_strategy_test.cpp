#include "strategies/verification/verify_strategy.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "sim/execute/run_program/weight_bound.hpp"
#include "strategies/scenario/scenario.hpp"
#include "strategies/stacks/cost_of.hpp"
#include "strategies/verification/dropping.hpp"
#include "strategies/verification/shrink/shrink.hpp"
#include "tests/strategies/step/step_under_test.hpp"

// What `lockstep verify strategy` rests on: the program that is simulated, executed beside its
// reference. The bounds are DEFINITIONS': 1e-10 in float64, 1e-5 in float32 with SGD.
namespace lockstep {
namespace {

const std::string kConfigs = LOCKSTEP_SOURCE_DIR "/configs";

VerificationOptions two_steps() {
  VerificationOptions out;
  out.steps = 2;
  return out;
}

/// On the scenario's own cluster.
VerificationOptions on(const Scenario& scenario) {
  VerificationOptions out = two_steps();
  const Device& device = scenario.cluster.device;
  out.stage = VerificationStage{scenario.cluster.cluster, device,
                                cost_model(device, scenario.stack, scenario.sustained, kConfigs),
                                kConfigs + "/nccl/2.30.json"};
  return out;
}

std::vector<std::filesystem::path> scenario_files() {
  std::vector<std::filesystem::path> out;
  for (const auto& entry : std::filesystem::directory_iterator{kConfigs + "/scenarios"}) {
    if (entry.path().extension() == ".json") out.push_back(entry.path());
  }
  return out;
}

VerificationReport verified(const Scenario& scenario, const VerificationOptions& options) {
  const ShrunkLayout layout =
      shrink(scenario.model, scenario.parallel, scenario.cluster.cluster.gpus_per_node());
  return verify_strategy(layout.model, layout.parallel, layout.gpus_per_node, options);
}

TransformerConfig gpt() {
  TransformerConfig out;
  out.layers = 2;
  out.hidden = 8;
  out.heads = 4;
  out.sequence = 8;
  out.vocabulary = 12;
  return out;
}

ParallelConfig layout(int dp) {
  ParallelConfig out;
  out.dp = dp;
  out.micro_batch = 1;
  out.global_batch = 2L * dp;
  out.state.optimizer = Optimizer::momentum;
  return out;
}

TEST_CASE("every shipped scenario trains as one device does, also in simulated order") {
  for (const std::filesystem::path& file : scenario_files()) {
    const Scenario scenario = load_scenario(file, {}, kConfigs);
    const VerificationReport report = verified(scenario, on(scenario));
    CAPTURE(file.stem().string());
    CHECK(report.problem() == "");
    CHECK(report.steps.size() == 2);
    // A difference of nothing would say that nothing was compared, but for one device alone.
    CHECK(report.weight.value >= 0);
    REQUIRE(report.order);
    // Steps that synchronize a fragment have other operations than those that do not.
    if (!scenario.parallel.averages()) CHECK(report.order->operations * 2 == report.operations);
    CHECK(report.order->peak > Bytes{});
  }
}

// Groups of 12 on nodes of 8 are 8 + 4 and 4 + 8: ranks finish the exchange of tokens at different
// times, and then have the weights that came with them.
TEST_CASE("weights come with their tokens where a group of experts covers nodes unequally") {
  for (const std::string overlap : {"[]", R"(["ep_pairs"])"}) {
    CAPTURE(overlap);
    const Scenario scenario = load_scenario(
        kConfigs + "/scenarios/expert-dispatch.json",
        {"cluster.nodes=3", "parallel.dp=24", "parallel.ep=12", "parallel.global_batch=48",
         "parallel.overlap=" + overlap, "model.experts.count=12", "variants=[]"},
        kConfigs);
    ShrinkLimits limits;
    limits.kept = {"parallel.dp", "parallel.ep", "model.experts.count"};
    const ShrunkLayout layout =
        shrink(scenario.model, scenario.parallel, scenario.cluster.cluster.gpus_per_node(), limits);
    REQUIRE(layout.parallel.ep == 12);
    const VerificationReport report =
        verify_strategy(layout.model, layout.parallel, layout.gpus_per_node, on(scenario));
    CHECK(report.problem() == "");
    CHECK(report.order);
  }
}

TEST_CASE("float32 trains as one device does within its own bound, and no closer") {
  VerificationOptions options = two_steps();
  options.float32 = true;
  ParallelConfig parallel = layout(2);
  parallel.tp = 2;
  parallel.sequence_parallel = true;
  parallel.zero = 2;
  const VerificationReport report = verify_strategy(test::transformer(gpt()), parallel, 8, options);
  CHECK(report.problem() == "");
  CHECK(report.tolerance == 1e-5);
  // Half a unit in the last place of float32 is 6e-8 of 1: sums in another order differ by some.
  CHECK(report.weight.value > 1e-12);
}

TEST_CASE("parameter averaging is as averaging in one process, and not as one device") {
  for (const int every : {1, 2, 3}) {
    CAPTURE(every);
    ParallelConfig parallel = layout(3);
    parallel.exchange = GradientExchange::parameter_averaging;
    parallel.average_every = every;
    TransformerConfig shape = gpt();
    shape.dropout = 0.1;
    VerificationOptions options = two_steps();
    options.steps = 5;  // for every = 2 and 3 the last step is not one that averages
    const VerificationReport report =
        verify_strategy(test::transformer(shape), parallel, 8, options);
    CHECK(report.problem() == "");
    REQUIRE(report.from_one_device);
    // Momentum is linear in the gradient, but for when weights have moved apart in between.
    CHECK((*report.from_one_device > 1e-6) == (every > 1));
  }
}

// Averaged every step, SGD and momentum do the same as an all-reduce of gradients, as they are
// linear in them; Adam is not, with or without a master copy.
TEST_CASE(
    "parameter averaging differs from one device with Adam alone, where it is done each step") {
  for (const Optimizer optimizer : {Optimizer::sgd, Optimizer::momentum, Optimizer::adam}) {
    for (const bool master : {false, true}) {
      CAPTURE(static_cast<int>(optimizer));
      CAPTURE(master);
      ParallelConfig parallel = layout(3);
      parallel.exchange = GradientExchange::parameter_averaging;
      parallel.state.optimizer = optimizer;
      parallel.state.master = master;
      const VerificationReport report =
          verify_strategy(test::transformer(gpt()), parallel, 8, two_steps());
      CHECK(report.problem() == "");
      REQUIRE(report.from_one_device);
      CHECK((*report.from_one_device > 1e-6) == (optimizer == Optimizer::adam));
    }
  }
}

TransformerConfig experts() {
  TransformerConfig out = gpt();
  out.sequence = 16;
  out.experts = ExpertsConfig{.experts = 4, .top_k = 2, .ffn = 8};
  return out;
}

TEST_CASE("whatever carries tokens, and beside whatever, one device computes the same") {
  for (const auto& [pp, copies] : {std::pair{1, false}, {2, false}, {2, true}}) {
    for (const bool pairs : {false, true}) {
      for (const Dispatcher dispatcher : {Dispatcher::all_to_all, Dispatcher::deepep}) {
        ParallelConfig parallel = layout(4);
        parallel.dp = 4;
        parallel.ep = 4;
        parallel.pp = pp;
        parallel.global_batch = 4 * 4;
        parallel.dispatcher = dispatcher;
        if (pp > 1) {
          parallel.vpp = copies ? 1 : 2;
          parallel.schedule = copies ? PipelineOrder::dualpipe : PipelineOrder::dualpipe_v;
        }
        if (pairs) parallel.overlap = {Overlap::ep_pairs};
        parallel.token_counts = {Collective::all_to_all, true};
        parallel.form.router_weights = RouterWeights::activation;
        TransformerConfig shape = experts();
        shape.layers = 4;
        const VerificationReport report =
            verify_strategy(test::transformer(shape), parallel, 8, two_steps());
        CHECK(report.problem() == "");
      }
    }
  }
  // Megatron-Core's pairs, and its counts.
  ParallelConfig parallel = layout(2);
  parallel.ep = 2;
  parallel.pp = 2;
  parallel.vpp = 2;
  parallel.schedule = PipelineOrder::interleaved;
  parallel.global_batch = 2 * 4;
  parallel.overlap = {Overlap::ep_pairs, Overlap::pp};
  parallel.token_counts = {Collective::all_gather, true};
  TransformerConfig shape = experts();
  shape.layers = 4;
  for (const bool delays : {false, true}) {
    parallel.delay_wgrad_compute = delays;
    CHECK(verify_strategy(test::transformer(shape), parallel, 8, two_steps()).problem() == "");
  }
}

// Nothing is sent to experts of others: no layers to take in turn, not even with ZeRO-3.
TEST_CASE("pairs of microbatches need experts on several ranks, and are idle without") {
  ParallelConfig parallel = layout(2);
  parallel.zero = 3;
  parallel.global_batch = 2 * 4;
  parallel.overlap = {Overlap::ep_pairs, Overlap::dp_parameters};
  CHECK(verify_strategy(test::transformer(gpt()), parallel, 8, two_steps()).problem() == "");
}

// Chunks without layers pass activations and gradients on, around the ring of stages if there are
// as many as stages.
TEST_CASE("chunks without layers between others compute the same") {
  using Order = PipelineOrder;
  struct Case {
    Order order;
    int vpp;
    std::vector<int> stages;
  };
  for (const Case& each :
       std::vector<Case>{{Order::gpipe, 1, {3, 0, 0, 5}},
                         {Order::one_f_one_b, 1, {3, 0, 0, 5}},
                         {Order::zb_h1, 1, {1, 0, 2, 5}},
                         {Order::interleaved, 3, {1, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 4}},
                         {Order::zb_v, 2, {1, 0, 2, 0, 0, 3, 1, 1}},
                         {Order::dualpipe, 1, {3, 0, 0, 5}}}) {
    ParallelConfig parallel = layout(1);
    parallel.pp = 4;
    parallel.vpp = each.vpp;
    parallel.global_batch = 8;
    parallel.schedule = each.order;
    parallel.stages = each.stages;
    CAPTURE(static_cast<int>(each.order));
    TransformerConfig shape = gpt();
    shape.layers = 8;
    CHECK(verify_strategy(test::transformer(shape), parallel, 8, two_steps()).problem() == "");
  }
}

// Of 32 visits a rank makes, an expert takes 8 (capacity factor 1): with a random router some
// have more than 8 visitors. The loss of step 1 is then not that of the dropless model.
TEST_CASE("experts with a capacity drop tokens as the reference does") {
  ParallelConfig parallel = layout(4);
  parallel.ep = 4;
  const ModelConfig model = test::transformer(experts());
  const VerificationReport dropless = verify_strategy(model, parallel, 8, two_steps());
  parallel.capacity_factor = 1;
  const VerificationReport dropping = verify_strategy(model, parallel, 8, two_steps());
  CHECK(dropless.problem() == "");
  CHECK(dropping.problem() == "");
  CHECK(std::abs(dropless.steps[0].loss - dropping.steps[0].loss) > 1e-6);
  // Which tokens share a rank decides who is dropped: cut along the sequence it is others.
  parallel.dp = 2;
  parallel.cp = 2;
  parallel.micro_batch = 2;
  const VerificationReport cut = verify_strategy(model, parallel, 8, two_steps());
  CHECK(cut.problem() == "");
  // Weights of dropped visits go nowhere, wherever they are multiplied.
  parallel.form.router_weights = RouterWeights::activation;
  const VerificationReport early = verify_strategy(model, parallel, 8, two_steps());
  CHECK(early.problem() == "");
  CHECK(early.steps[0].loss == doctest::Approx(cut.steps[0].loss).epsilon(1e-9));
}

// By hand: 4 ranks of one sequence of 16 tokens, 2 experts each, so 32 visits to 4 experts; at a
// capacity factor of 0.75 an expert has room for 0.75 * 32 / 4 = 6 of a rank's.
TEST_CASE("an expert's room is the capacity factor times its mean share of a rank's visits") {
  ParallelConfig parallel = layout(4);
  parallel.ep = 4;
  parallel.capacity_factor = 0.75;
  const Program program = build_program(test::transformer(experts()), parallel, 8);
  const auto rule = dropping_rule(program);
  REQUIRE(rule);
  CHECK(rule->capacity == 6);
  // Each rank drops for itself, and in each of the two microbatches anew.
  CHECK(rule->group_of(0, 0) == rule->group_of(0, 15));
  CHECK(rule->group_of(0, 0) != rule->group_of(1, 0));
  CHECK(rule->group_of(0, 0) != rule->group_of(4, 0));
}

// 32 visits of a rank to 5 experts: 6.4 on average, 8 of room from each of the 4 ranks at a factor
// of 1.25; of the whole batch it would be ceil(4 * 6.4 * 1.25) = 32 too, but at 1.1 it is 29, which
// 4 do not divide: 8 each all the same.
TEST_CASE("capacities that do not divide are each rank's own") {
  TransformerConfig shape = experts();
  shape.experts->experts = 6;
  for (const double factor : {0.7, 1.0, 1.1, 1.25, 1.5, 2.0}) {
    for (const int ep : {1, 2, 3, 6}) {
      CAPTURE(factor);
      CAPTURE(ep);
      ParallelConfig parallel = layout(6);
      parallel.ep = ep;
      parallel.capacity_factor = factor;
      CHECK(verify_strategy(test::transformer(shape), parallel, 8, two_steps()).problem() == "");
    }
  }
}

// All that cuts tokens, and what cuts experts beside: every rank drops for itself.
TEST_CASE("capacities under tensor, context and sequence parallelism are each rank's own") {
  TransformerConfig shape = experts();
  shape.sequence = 24;
  shape.experts->experts = 6;
  for (const double factor : {1.0, 1.25, 1.5, 2.0}) {
    for (const int ep : {1, 2, 6}) {
      for (const bool sequence : {false, true}) {
        for (const int cp : {1, 2}) {
          CAPTURE(factor);
          CAPTURE(ep);
          CAPTURE(sequence);
          CAPTURE(cp);
          ParallelConfig parallel = layout(3);
          parallel.tp = 2;
          parallel.cp = cp;
          parallel.ep = ep > 3 * cp ? 3 : ep;
          if (parallel.ep == 2 && cp == 1) parallel.ep = 1;
          parallel.sequence_parallel = sequence;
          parallel.capacity_factor = factor;
          parallel.zero = 1;
          CHECK(verify_strategy(test::transformer(shape), parallel, 8, two_steps()).problem() ==
                "");
        }
      }
    }
  }
}

TEST_CASE("skew says nothing of who is visited, and does not disturb the numbers") {
  ParallelConfig parallel = layout(4);
  parallel.ep = 4;
  parallel.expert_skew = 2;
  for (const double factor : {0.0, 1.0, 1.5}) {
    parallel.capacity_factor = factor;
    CHECK(verify_strategy(test::transformer(experts()), parallel, 8, two_steps()).problem() == "");
  }
}

/// Queries of 8 heads, keys of 2, which have a bias that a softmax does not see.
TransformerConfig unseen_bias() {
  TransformerConfig out = gpt();
  out.heads = 8;
  out.kv_heads = 2;
  out.head_size = 32;
  out.hidden = 256;
  out.ffn = 64;
  out.bias = false;
  out.qkv_bias = true;
  out.positions = Positions::learned;
  return out;
}

ParallelConfig heads_cut_twice() {
  ParallelConfig out = layout(1);
  out.tp = 4;
  out.cp = 2;
  out.cp_kind = ContextKind::ulysses;
  out.global_batch = 2;
  out.state.optimizer = Optimizer::adam;
  return out;
}

// The true gradient of the keys' bias is 0; what ranks and reference have of it is rounding, some
// 1e-15 here, which Adam divides by itself and 1e-8: after 3 steps they are up to 2.2e-10 apart.
TEST_CASE("a gradient of nothing but rounding is no difference, whatever Adam makes of it") {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    CAPTURE(seed);
    VerificationOptions options = two_steps();
    options.steps = 3;
    options.seed = seed;
    const VerificationReport report =
        verify_strategy(test::transformer(unseen_bias()), heads_cut_twice(), 8, options);
    CHECK(report.problem() == "");
    CHECK(report.tolerance == 1e-10);
  }
}

// Gradients of this model reach 0.1 and more; one of 1e-3 may add 1e-3 * 64 * 2.2e-16 / 1e-3.
TEST_CASE("what Adam may add to a difference is nothing where there is a gradient") {
  ParallelConfig alone;
  alone.global_batch = 2;
  const Program program = build_program(test::transformer(unseen_bias()), alone, 8);
  ProgramExecution execution{program};
  WeightBound bound{1e-10};
  (void)execution.step();
  bound.add_adam_step(execution, OptimizerSettings{}, 1);
  CHECK(bound.of("attention.k.bias", 1, 0) > 3e-10);
  CHECK(bound.of("attention.k.bias", 1, 0) < 1e-7);
  CHECK(bound.of("attention.v.bias", 1, 0) < 1.01e-10);
  CHECK(bound.of("head.weight", 3, 0) < 1.01e-10);
}

TEST_CASE("with Adam a gradient that is a millionth too large is still found") {
  VerificationOptions wrong = two_steps();
  wrong.change = [](Program& program) {
    for (Routine& routine : program.routines) {
      for (Operation& operation : routine.operations) {
        if (operation.kind == OperationKind::loss_backward) operation.factor *= 1 + 1e-6;
      }
    }
  };
  const VerificationReport report =
      verify_strategy(test::transformer(unseen_bias()), heads_cut_twice(), 8, wrong);
  CHECK(report.problem() != "");
}

// The reference takes the batch at once: whoever forgets a microbatch, or to divide by their
// number, is elsewhere than it.
TEST_CASE("accumulating gradients is as taking the batch at once, with dropout too") {
  TransformerConfig shape = gpt();
  shape.dropout = 0.2;
  ParallelConfig parallel = layout(2);
  for (const int microbatches : {1, 2, 5}) {
    CAPTURE(microbatches);
    parallel.global_batch = 2L * microbatches;
    CHECK(verify_strategy(test::transformer(shape), parallel, 8, two_steps()).problem() == "");
  }
  VerificationOptions wrong = two_steps();
  wrong.change = [](Program& program) {
    for (Role& role : program.roles) {
      for (Call& call : role.calls) call.microbatch = 0;
    }
  };
  CHECK(verify_strategy(test::transformer(shape), parallel, 8, wrong).problem() != "");
}

TEST_CASE("replicas begin as copies of the lowest of them") {
  const ModelConfig model = test::transformer(gpt());
  CHECK(verify_strategy(model, layout(4), 8, two_steps()).replicas == 3);
  ParallelConfig sharded = layout(4);
  sharded.zero = 3;
  sharded.shard_ranks = 2;
  CHECK(verify_strategy(model, sharded, 8, two_steps()).replicas == 2);
}

TEST_CASE("the scenario's algorithms do its collectives") {
  ParallelConfig parallel = layout(4);
  parallel.algorithms["dp"] = "halving_doubling";
  const VerificationReport report =
      verify_strategy(test::transformer(gpt()), parallel, 8, two_steps());
  CHECK(report.problem() == "");
  bool found = false;
  for (const std::string& line : report.collectives) {
    found = found || line == "dp: all_reduce among 4 by halving_doubling";
  }
  CHECK(found);
}

}  // namespace
}  // namespace lockstep
