#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "strategies/layout/scenario_names.hpp"
#include "strategies/scenario/parallel/layout_problems.hpp"
#include "tests/tools/app/plan/space_of.hpp"
#include "tools/app/plan/plan.hpp"

// Which points of a space are layouts at all.

namespace lockstep::app {
namespace {

std::vector<std::string> standard_overlaps(const std::string& stack,
                                           const std::string& model = "llama3-8b") {
  SpaceRequest request;
  request.model = model;
  request.cluster = "dgx-h100";
  request.global_batch = 64;
  request.stack = stack;
  const PlanSpace space = make_space(request);
  std::vector<std::string> out;
  for (const LayoutValue& value : space.axis(LayoutKey::overlap).values) out.push_back(value.text);
  return out;
}

}  // namespace

TEST_CASE("standard overlaps contain what the software hides without being asked") {  // its files
  CHECK(standard_overlaps("transformer-engine") ==
        std::vector<std::string>{"tp_backward", "dp_gradients+dp_parameters+tp_backward",
                                 "cp+dp_gradients+dp_parameters+pp+tp", "all"});
  CHECK(standard_overlaps("fsdp2") ==
        std::vector<std::string>{"none", "dp_gradients+dp_parameters",
                                 "cp+dp_gradients+dp_parameters+pp+tp", "all"});
  // Microbatches in turn are for experts.
  CHECK(standard_overlaps("transformer-engine", "mixtral-8x7b").back() == "all+ep_pairs");
}

TEST_CASE("pairs of microbatches are where a schedule has them, and delays where these are") {
  const PlanSpace space =
      make_space(space_of("gpt-1.3b-moe-128", "dgx-h100", 1, 16,
                          {"pp=1,2", "schedule=1f1b,zb-h1,interleaved", "vpp=1,2", "ep=1,4",
                           "overlap=ep,ep_pairs", "delay_wgrad_compute=false,true"},
                          {"tp=1", "cp=1", "etp=0", "cp_kind=ring", "recompute=none", "zero=1",
                           "shard_ranks=0", "offload=false", "short_edges=false",
                           "sequence_parallel=true", "order=tp-cp-dp-pp", "micro_batch=1"}));
  const PlanSetting setting{space, 0, {}};
  SettingBounds bounds{setting};
  LayoutWalk walk{space, setting, bounds, {}};
  std::map<std::string, int> counts;
  for (std::uint64_t i = 0; i < space.size(); ++i) {
    const auto layout = walk.at(i);
    const auto* parallel = std::get_if<ParallelConfig>(&layout);
    if (parallel == nullptr) continue;
    const std::string schedule{name_of(pipeline_names(), parallel->schedule)};
    const bool pairs = parallel->overlaps(Overlap::ep_pairs);
    ++counts[schedule + (pairs ? " in turn" : "") + (parallel->delay_wgrad_compute ? " late" : "")];
    CHECK((!pairs || parallel->ep > 1));
  }
  // Without pairs ep 1 and 4, of which ep 1 has nothing to hide.
  CHECK(counts == std::map<std::string, int>{{"none", 2},
                                             {"none in turn", 1},
                                             {"none in turn late", 1},
                                             {"1f1b", 2},
                                             {"zb-h1", 2},
                                             {"interleaved", 2},
                                             {"interleaved in turn", 1},
                                             {"interleaved in turn late", 1}});
}

TEST_CASE("rules of a walk are those of layout_problems()") {
  // Every point that the walk takes has no problem; every point it drops has one, or is the same
  // step as another.
  const PlanSpace space = make_space(
      space_of("gpt2-small", "dgx-h100", 2, 24,
               {"tp=1,2,3,4,5,8", "pp=1,2,3,4,5,6,12", "cp=1,2,3", "micro_batch=1,2,3", "vpp=1,2,3",
                "schedule=1f1b,interleaved,zb-h1", "short_edges=false,true", "shard_ranks=0,3,4"},
               {"zero=1", "cp_kind=ring", "recompute=none", "offload=false", "ep=1",
                "sequence_parallel=true", "order=tp-cp-dp-pp", "overlap=none"}));
  const PlanSetting setting{space, 0, {}};
  SettingBounds bounds{setting};
  LayoutWalk walk{space, setting, bounds, {}};
  std::uint64_t taken = 0;
  for (std::uint64_t i = 0; i < space.size(); ++i) {
    const auto layout = walk.at(i);
    if (const auto* parallel = std::get_if<ParallelConfig>(&layout)) {
      ++taken;
      CHECK(layout_problems(setting.scenario().model, *parallel, setting.ranks(),
                            setting.gpus_per_node())
                .empty());
      continue;
    }
    const PlanRule rule = std::get<PlanRule>(layout);
    if (rule == PlanRule::duplicate) continue;
    const auto digits = space.digits(i);
    const auto of = [&](LayoutKey key) { return digits[static_cast<std::size_t>(key)]; };
    ParallelConfig parallel = setting.scenario().parallel;
    parallel.tp = static_cast<int>(of(LayoutKey::tp));
    parallel.pp = static_cast<int>(of(LayoutKey::pp));
    parallel.cp = static_cast<int>(of(LayoutKey::cp));
    const int others = parallel.tp * parallel.pp * parallel.cp;
    parallel.dp = std::max(1, setting.ranks() / others);
    parallel.vpp = static_cast<int>(of(LayoutKey::vpp));
    parallel.micro_batch = of(LayoutKey::micro_batch);
    parallel.short_edges = of(LayoutKey::short_edges) != 0;
    parallel.zero = 1;
    parallel.shard_ranks = static_cast<int>(of(LayoutKey::shard_ranks));
    parallel.sequence_parallel = parallel.tp > 1;
    parallel.schedule =
        parallel.pp > 1 ? static_cast<PipelineOrder>(of(LayoutKey::schedule)) : PipelineOrder::none;
    const bool impossible = !layout_problems(setting.scenario().model, parallel, setting.ranks(),
                                             setting.gpus_per_node())
                                 .empty();
    CAPTURE(to_string(rule));
    CAPTURE(i);
    CHECK(impossible);
  }
  CHECK(taken > 100);
}

}  // namespace lockstep::app
