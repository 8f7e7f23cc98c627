#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "sim/config/json/json_values.hpp"
#include "strategies/layout/settled_recipe.hpp"
#include "strategies/scenario/scenario_parallel.hpp"
#include "tests/tools/app/plan/space_of.hpp"
#include "tools/app/plan/plan.hpp"
#include "tools/app/step/run_step.hpp"

// What a layout has from its software stack and its precision recipe depends on the layout. The
// expectation is always what `run` makes of it, by its overrides through the reader of scenarios.

namespace lockstep::app {
namespace {

using Found = std::pair<std::uint64_t, ParallelConfig>;

/// Every `step`-th point of a space of one setting that is a layout.
std::vector<Found> layouts_of(const PlanSpace& space, std::uint64_t step) {
  const PlanSetting setting{space, 0, {}};
  SettingBounds bounds{setting};
  LayoutWalk walk{space, setting, bounds, {}};
  std::vector<Found> out;
  for (std::uint64_t i = 0; i < space.size(); i += step) {
    const auto layout = walk.at(i);
    if (const auto* parallel = std::get_if<ParallelConfig>(&layout)) out.emplace_back(i, *parallel);
  }
  return out;
}

void check_equal(const ParallelConfig& walked, const ParallelConfig& read) {
  CHECK(json_text(json_of(walked)) == json_text(json_of(read)));
  CHECK(settled_recipe(walked) == settled_recipe(read));
  CHECK(walked.token_counts == read.token_counts);
  CHECK(walked.gradient_passes == read.gradient_passes);
  CHECK(walked.gradient_messages_in_parts == read.gradient_messages_in_parts);
  CHECK(walked.pairs_recompute_experts == read.pairs_recompute_experts);
  CHECK(walked.bucket_form.usual == read.bucket_form.usual);
  CHECK(walked.bucket_form.first == read.bucket_form.first);
  CHECK(walked.bucket_form.whole_without_overlap == read.bucket_form.whole_without_overlap);
  CHECK(walked.bucket_form.whole_chunks == read.bucket_form.whole_chunks);
}

/// Recipes that cast before they gather are none of the shipped ones.
class OwnRecipe {
 public:
  OwnRecipe() {
    std::ofstream{file_} << R"({"name": "own", "extends": "fp8-tensorwise",
      "casts_before_gather": {"value": true, "source": "a test", "provenance": "assumed"}})";
  }
  ~OwnRecipe() { std::filesystem::remove(file_); }
  OwnRecipe(const OwnRecipe&) = delete;
  OwnRecipe& operator=(const OwnRecipe&) = delete;
  [[nodiscard]] std::string name() const { return file_.string(); }

 private:
  std::filesystem::path file_ = std::filesystem::temp_directory_path() / "plan-casts-before.json";
};

/// Layouts at random, each simulated by a search that may exclude none.
SpaceRequest random_space(std::mt19937_64& random, const std::string& model,
                          const std::string& cluster) {
  const auto one_of = [&](std::vector<std::string> values) {
    return values[static_cast<std::size_t>(random() % values.size())];
  };
  return space_of(
      model, cluster, 1, 16,
      {"tp=1,2", "pp=1,2", one_of({"cp=1", "cp=1,2"}), one_of({"ep=1", "ep=1,2"}),
       one_of({"zero=0,1", "zero=1,3", "zero=2,3"}), "sequence_parallel=true,false"},
      {one_of({"micro_batch=1", "micro_batch=2"}), one_of({"recompute=none", "recompute=full"}),
       one_of({"overlap=none", "overlap=all"}), one_of({"schedule=1f1b", "schedule=zb-h1"}),
       one_of({"cp_kind=ring", "cp_kind=ulysses"}), "vpp=1", "offload=false", "short_edges=false",
       "shard_ranks=0", "order=tp-cp-dp-pp", "delay_wgrad_compute=false", "etp=0"});
}

void check_steps(const PlanSpace& space) {
  std::vector<std::unique_ptr<PlanSetting>> settings;
  settings.push_back(std::make_unique<PlanSetting>(space, 0, Calibration{}));
  const SearchResult found = search_space(space, settings, {.top = 1000, .threads = 1});
  CHECK(found.all.size() >= 8);
  SettingBounds bounds{*settings.front()};
  LayoutWalk walk{space, *settings.front(), bounds, {}};
  for (const SimulatedLayout& each : found.all) {
    const auto parallel = std::get<ParallelConfig>(walk.at(each.index));
    TrainingStepRequest request;
    request.file = space.name;
    request.document = space.base;
    request.overrides = layout_overrides(parallel);
    CAPTURE(json_text(json_of(parallel)));
    CHECK(each.step == run_step(request).throughput.step);
    CHECK(each.bound_s <= each.step_s);
  }
}

}  // namespace

// Of the default stacks, fsdp2 for ZeRO-3 has another recipe of fp8 and other counts of tokens than
// transformer-engine; the buckets of the latter grow with the replicas from 41 on.
TEST_CASE("a layout has the values of its stack as a scenario with this layout has") {
  for (const std::string precision : {"bf16", "fp8"}) {
    CAPTURE(precision);
    // 160 MB are the bucket of the stack of up to 40 replicas, and of more the scenario's own.
    for (const std::vector<std::string>& set :
         {std::vector<std::string>{}, {"parallel.bucket=160 MB"}, {"parallel.bucket=70 MB"}}) {
      SpaceRequest request = space_of(
          "mixtral-8x7b", "dgx-h100", 8, 256,
          {"tp=1,2", "pp=1,2", "zero=0,1,2,3", "schedule=1f1b,dualpipe", "offload=false,true",
           "sequence_parallel=true,false"},
          {"cp=1", "ep=1", "vpp=1", "micro_batch=1", "recompute=none", "overlap=none",
           "cp_kind=ring", "short_edges=false", "shard_ranks=0", "order=tp-cp-dp-pp", "etp=0"});
      request.precision = precision;
      request.overrides = set;
      const PlanSpace space = make_space(request);
      const std::vector<Found> layouts = layouts_of(space, 1);
      std::set<std::int64_t> buckets;
      std::set<std::string> recipes;
      for (const auto& [index, parallel] : layouts) {
        CAPTURE(index);
        check_equal(parallel, scenario_of(space, 0, layout_overrides(parallel)).parallel);
        buckets.insert(parallel.bucket.count());
        recipes.insert(parallel.recipe.id);
      }
      CHECK(layouts.size() >= 24);
      CHECK(buckets.size() == (set.empty() ? 3 : 1));  // of 25 MB, 160 MB and 256 MB
      CHECK(recipes.size() == (precision == "fp8" ? 2 : 1));
    }
  }
}

TEST_CASE("steps of a search are those of run, and no bound is above them, in every precision") {
  const OwnRecipe own;
  std::mt19937_64 random{20261129};
  for (const std::string& precision :
       {std::string{"bf16"}, std::string{"fp8"}, std::string{"fp8-tensorwise"},
        std::string{"fp8-rowwise"}, std::string{"fp8-delayed"}, std::string{"fp8-current"},
        std::string{"fp8-blockwise"}, std::string{"fp8-deepseek"}, std::string{"mxfp8"},
        std::string{"nvfp4"}, own.name()}) {
    const bool blackwell = precision == "mxfp8" || precision == "nvfp4";
    for (const std::string model : {"gpt2-small", "gpt-1.3b-moe-128"}) {
      CAPTURE(precision);
      CAPTURE(model);
      SpaceRequest request = random_space(random, model, blackwell ? "dgx-b200" : "dgx-h100");
      request.precision = precision;
      request.overrides = {"model.layers=4"};
      if (model != "gpt2-small") request.overrides.emplace_back("model.experts.count=8");
      check_steps(make_space(request));
    }
  }
}

}  // namespace lockstep::app
