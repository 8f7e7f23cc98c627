#include "strategies/verification/shrink/shrink.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <random>
#include <set>

#include "strategies/models/files/model_file.hpp"
#include "strategies/scenario/parallel/layout_problems.hpp"
#include "strategies/scenario/scenario.hpp"
#include "strategies/step/build_program.hpp"
#include "tests/strategies/step/random_layouts.hpp"
#include "tests/strategies/verification/shrink_harness.hpp"

// A shrunk layout has the form of the whole one: shrunk_form.hpp says what that is. Every scenario,
// every model and many drawn layouts.
namespace lockstep {
namespace {

const std::string kConfigs = LOCKSTEP_SOURCE_DIR "/configs";

std::set<std::filesystem::path> files_of(const std::string& folder) {
  std::set<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(kConfigs + "/" + folder)) {
    if (entry.path().extension() == ".json") files.insert(entry.path());
  }
  return files;
}

TEST_CASE("every scenario shrinks and keeps its form") {
  for (const auto& file : files_of("scenarios")) {
    CAPTURE(file.string());
    const Scenario scenario = load_scenario(file, {}, kConfigs);
    CHECK(test::trouble_shrinking(scenario.model, scenario.parallel,
                                  scenario.cluster.cluster.gpus_per_node()) == "");
  }
}

/// Reductions of gradients in a step, on the role that has most of them.
int buckets(const Program& program) {
  std::size_t most = 0;
  for (const Role& role : program.roles) {
    const auto count = std::count_if(role.calls.begin(), role.calls.end(), [&](const Call& call) {
      return program.routines[call.routine].name == "reduce_gradients";
    });
    most = std::max(most, static_cast<std::size_t>(count));
  }
  return static_cast<int>(most);
}

TEST_CASE("several buckets of gradients stay several, one stays one") {
  int several = 0;
  for (const auto& file : files_of("scenarios")) {
    CAPTURE(file.string());
    const Scenario scenario = load_scenario(file, {}, kConfigs);
    const int per_node = scenario.cluster.cluster.gpus_per_node();
    const ShrunkLayout small = shrink(scenario.model, scenario.parallel, per_node);
    const int before = buckets(build_program(scenario.model, scenario.parallel, per_node));
    const int after = buckets(build_program(small.model, small.parallel, small.gpus_per_node));
    CHECK(std::min(before, 2) == std::min(after, 2));
    several += before > 1 ? 1 : 0;
  }
  CHECK(several > 2);
}

TEST_CASE("shrinking again changes nothing that matters") {
  for (const auto& file : files_of("scenarios")) {
    CAPTURE(file.string());
    const Scenario scenario = load_scenario(file, {}, kConfigs);
    const ShrunkLayout once =
        shrink(scenario.model, scenario.parallel, scenario.cluster.cluster.gpus_per_node());
    const ShrunkLayout twice = shrink(once.model, once.parallel, once.gpus_per_node);
    CHECK(twice.parallel.ranks() == once.parallel.ranks());
    CHECK(test::lost_by_shrinking(scenario.model, scenario.parallel,
                                  scenario.cluster.cluster.gpus_per_node(), twice) == "");
  }
}

/// A drawn layout made as large as those that are trained: every degree above 1 is multiplied.
test::RandomLayout scaled(test::RandomLayout layout, std::mt19937_64& engine) {
  const auto of = [&engine](std::initializer_list<int> choices) {
    return choices.begin()[engine() % choices.size()];
  };
  ParallelConfig& to = layout.parallel;
  const auto scale = [&](int& degree, int by) { degree *= degree > 1 ? by : 1; };
  const std::int64_t microbatches = to.microbatches() * of({1, 4});
  scale(to.dp, of({1, 4, 16}));
  scale(to.tp, of({1, 2}));
  scale(to.pp, of({1, 2, 4}));
  scale(to.cp, of({1, 2}));
  scale(to.ep, of({1, 2, 4}));
  scale(to.shard_ranks, of({1, 2, 8}));
  scale(to.ulysses, of({0, 1, 2}));
  scale(to.vpp, of({1, 2, 3}));
  to.micro_batch *= of({1, 4});
  to.global_batch = to.micro_batch * to.dp * microbatches;
  TransformerConfig shape = layout.shape();
  shape.layers *= 12;
  shape.hidden *= 32;
  shape.heads *= 4;
  shape.kv_heads *= shape.latent ? 4 : of({1, 4});
  shape.ffn *= 32;
  shape.sequence *= 32;
  shape.vocabulary *= 100;
  if (shape.experts) {
    shape.experts->experts *= of({1, 4});
    shape.experts->top_k = of({1, 2, 8});
    shape.experts->ffn *= 16;
    shape.experts->shared_ffn *= 16;
    shape.experts->every = of({1, 1, 2, 3});
  }
  layout.model.shape = shape;
  return layout;
}

TEST_CASE("layouts drawn at random shrink and keep their form") {
  std::mt19937_64 engine{5};
  int done = 0;
  int large = 0;
  for (const test::RandomLayout& drawn : test::random_layouts(5, 1000)) {
    const test::RandomLayout layout = scaled(drawn, engine);
    if (!layout_problems(layout.model, layout.parallel, layout.parallel.ranks(), 8).empty())
      continue;
    const std::string text = test::to_string(layout);
    CAPTURE(text);
    CHECK(test::trouble_shrinking(layout.model, layout.parallel, 8) == "");
    ++done;
    large += layout.parallel.ranks() > 32 ? 1 : 0;
  }
  CHECK(done >= 300);
  CHECK(large >= 150);
}

/// tp, pp and dp as the model admits them, over nodes of 8.
ParallelConfig layout_for(const ModelConfig& model) {
  ParallelConfig out;
  out.dp = 16;
  out.micro_batch = 4;
  out.global_batch = out.dp * out.micro_batch * 32;
  for (const int tp : {8, 5, 4, 1}) {
    for (const int pp : {4, 3, 2, 1}) {
      out.tp = tp;
      out.pp = pp;
      out.schedule = pp > 1 ? PipelineOrder::one_f_one_b : PipelineOrder::none;
      if (layout_problems(model, out, out.ranks(), 8).empty()) return out;
    }
  }
  return out;
}

TEST_CASE("every model shrinks and keeps its form") {
  int shrunk = 0;
  for (const auto& file : files_of("models")) {
    CAPTURE(file.string());
    const ModelConfig model = load_model(file);
    ParallelConfig parallel = layout_for(model);
    CHECK(test::trouble_shrinking(model, parallel, 8) == "");
    ++shrunk;
    if (model.transformer() == nullptr || model.transformer()->heads % 8 != 0) continue;
    parallel = {};
    parallel.cp = 64;
    parallel.cp_kind = ContextKind::both;
    parallel.dp = 4;
    parallel.global_batch = 8;
    parallel.zero = 3;
    if (layout_problems(model, parallel, parallel.ranks(), 8).empty())
      CHECK(test::trouble_shrinking(model, parallel, 8) == "");
  }
  CHECK(shrunk >= 42);
}

}  // namespace
}  // namespace lockstep
