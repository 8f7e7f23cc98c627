#include <doctest/doctest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "strategies/scenario/parallel/layout_problems.hpp"
#include "tools/app/errors.hpp"
#include "tools/app/plan/plan.hpp"
#include "tools/app/step/run_step.hpp"

// Models that are no decoders alone: every layout that the walk takes can be run, and the search
// finds what running all of them finds.
namespace lockstep::app {
namespace {

SpaceRequest request_of(const std::string& model) {
  SpaceRequest out;
  out.model = model;
  out.cluster = "dgx-h100";
  out.nodes = 1;
  out.global_batch = 16;
  out.vary = {"tp=1,2,8",
              "pp=1,2",
              "zero=0,1,3",
              "recompute=none,full",
              "sequence_parallel=true,false",
              "micro_batch=1,2"};
  out.fix = {"cp=1",
             "ep=1",
             "cp_kind=ring",
             "vpp=1",
             "schedule=1f1b",
             "offload=false",
             "short_edges=false",
             "shard_ranks=0",
             "order=tp-cp-dp-pp",
             "overlap=dp_gradients"};
  return out;
}

/// By overrides, through the reader of scenarios, as `run` does it; none: it does not fit.
std::optional<Duration> step_of(const PlanSpace& space, std::uint64_t index,
                                const ParallelConfig& parallel) {
  TrainingStepRequest request;
  request.file = space.name;
  request.document = space.base;
  request.overrides = space.setting_overrides(index / space.layout_count());
  for (std::string& each : layout_overrides(parallel)) request.overrides.push_back(std::move(each));
  try {
    return run_step(request).throughput.step;
  } catch (const DoesNotFit&) {
    return std::nullopt;
  }
}

/// Step time and index of the fastest; the number of layouts is at least `least`.
std::pair<Duration, std::uint64_t> fastest(const PlanSpace& space, std::uint64_t least) {
  const PlanSetting setting{space, 0, {}};
  SettingBounds bounds{setting};
  LayoutWalk walk{space, setting, bounds, {}};
  std::optional<std::pair<Duration, std::uint64_t>> out;
  std::uint64_t layouts = 0;
  for (std::uint64_t i = 0; i < space.size(); ++i) {
    const auto layout = walk.at(i);
    const auto* parallel = std::get_if<ParallelConfig>(&layout);
    if (parallel == nullptr) continue;
    ++layouts;
    CHECK(layout_problems(setting.scenario().model, *parallel, setting.ranks(),
                          setting.gpus_per_node())
              .empty());
    const auto step = step_of(space, i, *parallel);
    if (step && (!out || std::pair{*step, i} < *out)) out = std::pair{*step, i};
  }
  CHECK(layouts >= least);
  REQUIRE(out);
  return *out;
}

/// A search finds the fastest.
void check_search(const PlanSpace& space, std::uint64_t least) {
  const auto [step, index] = fastest(space, least);
  std::vector<std::unique_ptr<PlanSetting>> settings;
  settings.push_back(std::make_unique<PlanSetting>(space, 0, Calibration{}));
  const SearchResult found = search_space(space, settings, {.top = 1, .threads = 1});
  REQUIRE(found.best.size() == 1);
  CHECK(found.best[0].step == step);
  CHECK(found.best[0].index == index);
}

TEST_CASE(
    "a search finds what simulating every point finds: images, latents, an encoder and a decoder") {
  for (const auto& [model, least] :
       {std::pair{"vit-b-16", 20U}, {"dit-s-2", 12U}, {"t5-small", 12U}}) {
    CAPTURE(model);
    check_search(make_space(request_of(model)), least);
  }
}

// Bounds count no attention whose documents differ between ranks: weak, and below every step.
TEST_CASE("a search finds what simulating every point finds: documents that differ") {
  for (const char* documents :
       {"[[1024],[64],[300,20]]", R"({"distribution":"lognormal","mean":200,"seed":3})"}) {
    CAPTURE(documents);
    SpaceRequest request = request_of("gpt2-small");
    request.overrides = {std::string{"model.documents="} + documents};
    request.vary = {"tp=1,2", "cp=1,2", "pp=1,2", "zero=0,3", "micro_batch=1,2"};
    request.fix = {"ep=1",
                   "cp_kind=ring",
                   "vpp=1",
                   "schedule=1f1b",
                   "offload=false",
                   "short_edges=false",
                   "shard_ranks=0",
                   "recompute=none",
                   "sequence_parallel=false",
                   "order=tp-cp-dp-pp",
                   "overlap=dp_gradients"};
    check_search(make_space(request), 12);
  }
}

}  // namespace
}  // namespace lockstep::app
