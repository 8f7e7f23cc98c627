#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "sim/base/check.hpp"
#include "strategies/scenario/parallel/layout_problems.hpp"
#include "strategies/scenario/scenario.hpp"
#include "strategies/step/facts.hpp"
#include "strategies/step/run_passes.hpp"
#include "tests/strategies/step/random_layouts.hpp"
#include "tests/strategies/step/step_under_test.hpp"

/// The conditions of the passes: they hold for every layout, and a pass that breaks one is named.
/// Expectations follow from the definitions of the facts (strategies/layout/passes.hpp).
namespace lockstep::test {
namespace {

using Passes = std::vector<StrategyPass>;

[[nodiscard]] Passes all_passes() {
  return {kStrategyPasses.begin(), kStrategyPasses.end()};
}

[[nodiscard]] Passes::iterator place(Passes& passes, std::string_view name) {
  const auto found = std::find_if(passes.begin(), passes.end(),
                                  [name](const StrategyPass& pass) { return pass.name == name; });
  REQUIRE(found != passes.end());
  return found;
}

/// Two stages of two layers, tp 2, dp 2, two microbatches, ZeRO-1, recomputation.
struct Layout {
  ModelConfig model;
  ParallelConfig parallel;

  Layout() {
    TransformerConfig shape;
    shape.layers = 4;
    shape.hidden = 32;
    shape.heads = 4;
    shape.sequence = shape.vocabulary = 64;
    model = transformer(shape);
    parallel.tp = parallel.dp = parallel.pp = 2;
    parallel.schedule = PipelineOrder::one_f_one_b;
    parallel.global_batch = 4;
    parallel.zero = 1;
    parallel.recompute = Recompute::full;
    parallel.sequence_parallel = true;
  }
};

/// What run_passes() says of the passes; empty: nothing.
[[nodiscard]] std::string error_of(const Layout& layout, const Passes& passes, bool checks = true) {
  TrainingStepAssembly step = start_step(layout.model, layout.parallel, 8);
  try {
    run_passes(step, passes, checks);
  } catch (const InternalError& error) {
    return error.what();
  }
  return {};
}

/// The same after one more pass, which breaks something, behind `name`.
[[nodiscard]] std::string error_after(std::string_view name, void (*breaks)(TrainingStepAssembly&),
                                      const Layout& layout = {}) {
  Passes passes = all_passes();
  passes.insert(place(passes, name) + 1,
                {.name = "mutant", .run = breaks, .applies = step_passes::always});
  return error_of(layout, passes);
}

[[nodiscard]] bool says(const std::string& error, std::string_view what) {
  INFO(error);
  const bool out = error.find(what) != std::string::npos;
  CHECK(out);
  return out;
}

[[nodiscard]] bool calls(const TrainingStepAssembly& step, const ScriptCall& call,
                         std::string_view routine) {
  return step.program.routines[call.call.routine].name == routine;
}

void check_layout(const ModelConfig& model, const ParallelConfig& parallel, int gpus_per_node) {
  for (int fragment = 0; fragment <= parallel.fragments; ++fragment) {
    const auto build = [&] {
      (void)build_program(model, parallel, gpus_per_node,
                          {.ends_with_average = fragment < parallel.fragments,
                           .fragment = fragment,
                           .checks_passes = true});
    };
    CHECK_NOTHROW(build());
    if (!parallel.averages()) return;
  }
}

}  // namespace

TEST_CASE("passes: their conditions hold in every scenario") {
  const std::filesystem::path configs = LOCKSTEP_SOURCE_DIR "/configs";
  int scenarios = 0;
  for (const auto& file : std::filesystem::directory_iterator(configs / "scenarios")) {
    if (file.path().extension() != ".json") continue;
    CAPTURE(file.path().stem().string());
    Scenario scenario = load_scenario(file.path(), {}, configs);
    const int per_node = scenario.cluster.cluster.gpus_per_node();
    check_layout(scenario.model, scenario.parallel, per_node);
    ++scenarios;
  }
  CHECK(scenarios > 20);
}

TEST_CASE("passes: their conditions hold in random layouts with outer steps") {
  int layouts = 0;
  for (const RandomLayout& layout : random_layouts(73, 150)) {
    ParallelConfig parallel = layout.parallel;
    parallel.exchange = GradientExchange::diloco;
    parallel.outer_replicas = parallel.dp % 2 == 0 ? 2 : 0;
    parallel.shard_ranks = 0;
    parallel.fragments = layouts % 3 + 1;
    parallel.average_every = 4;
    parallel.state.offload = false;
    if (layouts % 2 == 0) parallel.overlap.insert(Overlap::outer);
    if (!layout_problems(layout.model, parallel, parallel.ranks(), 8).empty()) continue;
    CAPTURE(to_string(layout));
    check_layout(layout.model, parallel, 8);
    ++layouts;
  }
  CHECK(layouts > 50);
}

TEST_CASE("passes: their conditions hold in random layouts, with every way to exchange gradients") {
  for (const RandomLayout& layout : random_layouts(71, 150)) {
    CAPTURE(to_string(layout));
    check_layout(layout.model, layout.parallel, 8);
    ParallelConfig plain = layout.parallel;
    if (plain.pp * plain.tp * plain.cp * plain.ep > 1) continue;
    plain.zero = 0;
    plain.shard_ranks = 0;
    plain.state.offload = false;
    for (const auto exchange : {GradientExchange::parameter_server, GradientExchange::host_average,
                                GradientExchange::parameter_averaging}) {
      plain.exchange = exchange;
      CAPTURE(static_cast<int>(exchange));
      check_layout(layout.model, plain, 8);
    }
  }
}

TEST_CASE("passes: one that breaks a block or a weight is named with the fact") {
  CHECK(error_of({}, all_passes()).empty());
  CHECK(says(error_after("shard_tensors",
                         [](TrainingStepAssembly& step) {
                           for (Tensor& tensor : step.graph.tensors) tensor.partial.clear();
                         }),
             "after mutant, sharded: "));
  CHECK(says(error_after("recompute_activations",
                         [](TrainingStepAssembly& step) {
                           auto& backward = step.graph.blocks[1].backward;
                           backward.erase(backward.begin());
                         }),
             "after mutant, reads_defined: "));
  CHECK(says(error_after("find_trained_weights",
                         [](TrainingStepAssembly& step) { step.weights[1][0].over.clear(); }),
             "after mutant, weights_listed: the gradient of "));
  CHECK(says(error_after("find_trained_weights",
                         [](TrainingStepAssembly& step) { step.weights[1][0].shard.clear(); }),
             "after mutant, weights_listed: `shard` and `replicate` of "));
  CHECK(says(error_after("make_routines",
                         [](TrainingStepAssembly& step) {
                           step.program.routines[step.routines[1].forward].operations.pop_back();
                         }),
             "after mutant, routines_made: the routines of layer are not its operations"));
}

TEST_CASE("passes: one that breaks the order of a stage is named with the fact") {
  CHECK(says(error_after("order_pipeline",
                         [](TrainingStepAssembly& step) {
                           auto& calls = step.stages[1].calls;
                           std::reverse(calls.begin(), calls.end());
                         }),
             "after mutant, stages_ordered: stage 1: position "));
  const auto drop_receive = [](TrainingStepAssembly& step) {
    auto& all = step.stages[1].calls;
    all.erase(std::find_if(all.begin(), all.end(), [&](const ScriptCall& call) {
      return calls(step, call, "receive.forward");
    }));
  };
  CHECK(says(error_after("order_pipeline", drop_receive), "is sent 1 times forward, received 0"));
  CHECK(says(error_after("finish_program",
                         [](TrainingStepAssembly& step) {
                           auto& calls = step.program.roles[0].calls;
                           calls.erase(calls.begin());
                         }),
             "after mutant, complete: "));
}

TEST_CASE("passes: one that breaks gradients or updates is named with the fact") {
  const auto drop = [](TrainingStepAssembly& step, std::string_view routine) {
    auto& all = step.stages[0].calls;
    const auto found = std::find_if(
        all.begin(), all.end(), [&](const ScriptCall& call) { return calls(step, call, routine); });
    REQUIRE(found != all.end());
    all.erase(found);
  };
  static const auto* dropping = &drop;
  CHECK(says(error_after("exchange_gradients",
                         [](TrainingStepAssembly& step) { (*dropping)(step, "reduce_gradients"); }),
             "after finish_gradients, gradients_whole: stage 0, position "));
  CHECK(says(error_after("finish_gradients",
                         [](TrainingStepAssembly& step) { (*dropping)(step, "reduce_within_tp"); }),
             "the gradient is summed over [dp] instead of [tp_dp]"));
  CHECK(says(error_after("update_weights",
                         [](TrainingStepAssembly& step) { (*dropping)(step, "update"); }),
             ": 0 updates"));
  CHECK(says(error_after("gather_updated_weights",
                         [](TrainingStepAssembly& step) { (*dropping)(step, "gather_weights"); }),
             ": gathered 0 times"));
  CHECK(says(error_after("update_weights",
                         [](TrainingStepAssembly& step) {
                           auto& all = step.stages[0].calls;
                           for (std::size_t i = 0; i < all.size(); ++i)
                             if (calls(step, all[i], "update"))
                               return (void)all.insert(all.begin() + static_cast<std::ptrdiff_t>(i),
                                                       ScriptCall{all[i]});
                         }),
             ": 2 updates"));
}

TEST_CASE("passes: an order that the conditions do not allow is refused, without checks too") {
  Passes early = all_passes();
  const auto exchange = place(early, "exchange_gradients");
  std::rotate(exchange, place(early, "update_weights"), place(early, "update_weights") + 1);
  CHECK(error_of({}, early, false) == "pass update_weights needs gradients_whole");

  Passes late = all_passes();
  const auto weights = place(late, "find_trained_weights");
  std::rotate(weights, weights + 1, place(late, "make_routines") + 1);
  CHECK(error_of({}, late, false) == "pass make_routines needs weights_listed");

  Passes twice = all_passes();
  twice.insert(place(twice, "order_pipeline"), *place(twice, "find_trained_weights"));
  CHECK(error_of({}, twice, false) == "pass find_trained_weights runs after routines_made");
}

TEST_CASE("passes: names are unique, and every fact has one") {
  std::vector<std::string_view> names;
  for (const StrategyPass& pass : kStrategyPasses) names.push_back(pass.name);
  std::sort(names.begin(), names.end());
  CHECK(std::adjacent_find(names.begin(), names.end()) == names.end());
  FactSet given = kFactsOfModel;
  for (const StrategyPass& pass : kStrategyPasses) given = given.with(pass.gives);
  REQUIRE(fact_checks().size() == static_cast<std::size_t>(Fact::complete) + 1);
  for (std::size_t i = 0; i < fact_checks().size(); ++i) {
    CHECK(fact_checks()[i].fact == static_cast<Fact>(i));
    CHECK(given.has(fact_checks()[i].fact));
  }
}

}  // namespace lockstep::test
