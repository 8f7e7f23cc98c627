#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "strategies/scenario/parallel/layout_problems.hpp"
#include "tests/strategies/verification/shrink_harness.hpp"

// What stays when it is asked to, and what is said where that cannot be.
namespace lockstep {
namespace {

using test::four_ways;
using test::model_of;

std::set<std::string> changed(const ShrunkLayout& layout) {
  std::set<std::string> out;
  for (const Change& change : layout.changes) out.insert(change.key);
  return out;
}

TEST_CASE("kept keys stay") {
  const ModelConfig model = model_of("llama3-70b");
  ParallelConfig parallel = four_ways();
  parallel.tp = 4;
  for (const std::string key :
       {"model.layers", "model.hidden", "model.heads", "model.kv_heads", "model.head_size",
        "model.ffn", "model.seq", "model.vocab", "parallel.tp", "parallel.cp", "parallel.pp",
        "parallel.dp", "parallel.micro_batch", "parallel.global_batch", "parallel.bucket"}) {
    CAPTURE(key);
    const ShrunkLayout small = shrink(model, parallel, 8, {.kept = {key}});
    CHECK(!changed(small).contains(key));
    CHECK(layout_problems(small.model, small.parallel, small.parallel.ranks(), small.gpus_per_node)
              .empty());
    CHECK(small.parallel.ranks() <= 32);
  }
  CHECK(changed(shrink(model, parallel, 8, {.kept = {"parallel.tp"}})).contains("parallel.dp"));
}

TEST_CASE("a kept section keeps all in it, and what is kept may be several") {
  ParallelConfig parallel;
  parallel.dp = 16;
  parallel.ep = 4;
  parallel.global_batch = 16;
  const ModelConfig model = model_of("deepseek-v2-lite");
  const ShrunkLayout small =
      shrink(model, parallel, 8, {.kept = {"model.experts", "model.latent", "parallel.ep"}});
  CHECK(small.model.transformer()->experts == model.transformer()->experts);
  CHECK(small.model.transformer()->latent == model.transformer()->latent);
  CHECK(small.parallel.ep == 4);
  CHECK(small.parallel.dp > 4);  // experts stay on a part of the replicas
  CHECK(small.model.transformer()->hidden <= 32);
}

TEST_CASE("to name the model is not to keep its size") {
  const ShrunkLayout small =
      shrink(model_of("llama3-70b"), four_ways(), 8, {.kept = {"model", "model.file", "seed"}});
  CHECK(test::too_large(small.model) == "");
}

TEST_CASE("nothing of the model shrinks, or nothing of the degrees, where that is asked") {
  const ModelConfig model = model_of("llama3-70b");
  const ParallelConfig parallel = four_ways();
  const ShrunkLayout same_model = shrink(model, parallel, 8, {.model = false});
  CHECK(*same_model.model.transformer() == *model.transformer());
  CHECK(same_model.parallel.ranks() <= 32);
  const ShrunkLayout same_degrees = shrink(model, parallel, 8, {.degrees = false});
  CHECK(same_degrees.parallel.ranks() == parallel.ranks());
  CHECK(same_degrees.gpus_per_node == 8);
  CHECK(test::too_large(same_degrees.model) == "");
  CHECK(test::lost_by_shrinking(model, parallel, 8, same_degrees, parallel.ranks()) == "");
  const ShrunkLayout same = shrink(model, parallel, 8, {.model = false, .degrees = false});
  CHECK(same.changes.empty());
}

// 50,257 words over 16 ranks are 3,142 on 15 of them and 3,127 on the last.
TEST_CASE("however many ranks a vocabulary is cut for, all have words, as many or fewer") {
  ParallelConfig parallel;
  for (const int tp : {2, 4, 8, 16}) {
    CAPTURE(tp);
    parallel.tp = tp;
    for (const bool degrees : {false, true}) {
      const ShrunkLayout small = shrink(model_of("gpt2-medium"), parallel, 8, {.degrees = degrees});
      CHECK(test::lost_by_shrinking(model_of("gpt2-medium"), parallel, 8, small) == "");
    }
  }
}

// 96 layers stay; 12 stages become fewer that have them all, and not all alike.
TEST_CASE("stages are made anew where the layers stay") {
  ParallelConfig parallel;
  parallel.pp = 12;
  parallel.schedule = PipelineOrder::gpipe;
  parallel.stages = {9, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 7};
  parallel.global_batch = 24;
  const ModelConfig model = model_of("gpt3-175b");
  const ShrunkLayout layers = shrink(model, parallel, 8, {.kept = {"model.layers"}});
  CHECK(layers.parallel.stages == std::vector<int>{25, 24, 24, 23});
  CHECK(shrink(model, parallel, 8, {.model = false}).parallel.stages == layers.parallel.stages);
  const ShrunkLayout stages = shrink(model, parallel, 8, {.kept = {"parallel.stages"}});
  CHECK(stages.parallel.stages == parallel.stages);
  CHECK(stages.parallel.pp == 12);
  CHECK(stages.model.transformer()->layers == 96);
}

TEST_CASE("changes are reported as keys with both values") {
  ParallelConfig parallel;
  parallel.dp = 128;
  parallel.global_batch = 128;
  const ShrunkLayout small = shrink(model_of("gpt2-small"), parallel, 8);
  const auto has = [&](const Change& change) {
    return std::find(small.changes.begin(), small.changes.end(), change) != small.changes.end();
  };
  CHECK(has({"model.layers", "12", "2"}));
  CHECK(has({"parallel.dp", "128", "4"}));
  CHECK(has({"parallel.global_batch", "128", "4"}));
}

std::string refusal(const ModelConfig& model, const ParallelConfig& parallel,
                    const ShrinkLimits& limits) {
  try {
    (void)shrink(model, parallel, 8, limits);
  } catch (const NotShrinkable& error) {
    return error.what();
  }
  return "";
}

// Above 1 is 2 at least: of tp, cp, pp and dp that makes 16 ranks; with tp = 8, 64.
TEST_CASE("what cannot be shrunk says what stands in the way") {
  const ModelConfig model = model_of("llama3-70b");
  ParallelConfig parallel = four_ways();
  CHECK(refusal(model, parallel, {.kept = {"parallel.tp"}}) ==
        "cannot be shrunk to 32 ranks or fewer with parallel.tp as it is: "
        "dp * pp * cp * tp is 2 * 2 * 2 * 8 = 64 at least");
  CHECK(refusal(model, parallel, {.ranks = 16}) == "");
  CHECK(refusal(model, parallel, {.ranks = 15}) ==
        "cannot be shrunk to 15 ranks or fewer: dp * pp * cp * tp is 2 * 2 * 2 * 2 = 16 at least");
  // 8 of 64 replicas would have to be a part of at most 8.
  parallel = {};
  parallel.dp = 64;
  parallel.shard_ranks = 8;
  parallel.zero = 3;
  parallel.global_batch = 64;
  CHECK(refusal(model, parallel, {.ranks = 8, .kept = {"parallel.shard_ranks"}}) ==
        "cannot be shrunk to 8 ranks or fewer with parallel.shard_ranks as it is: ep = 1 and "
        "shard_ranks = 8 stay such parts of the dp * cp = 64 replicas");
  // Six stages are kept, but there is room for three.
  parallel = {};
  parallel.pp = 6;
  parallel.schedule = PipelineOrder::one_f_one_b;
  parallel.stages = {14, 14, 13, 13, 13, 13};
  parallel.global_batch = 6;
  const std::string text =
      refusal(model, parallel, {.ranks = 4, .kept = {"parallel.stages", "model.layers"}});
  CHECK(text ==
        "cannot be shrunk to 4 ranks or fewer with model.layers, parallel.stages as it is: "
        "parallel.stages: stages has 6 entries, but pp * vpp = 3");
}

}  // namespace
}  // namespace lockstep
