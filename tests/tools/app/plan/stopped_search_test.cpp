#include <doctest/doctest.h>

#include <memory>
#include <vector>

#include "tools/app/plan/plan.hpp"

namespace lockstep::app {

TEST_CASE("a search that is stopped while it bounds says how many points it has not bounded") {
  SpaceRequest request;
  request.model = "gpt2-small";
  request.cluster = "dgx-h100";
  request.nodes = 1;
  request.global_batch = 16;
  request.vary = {"tp=1,2", "pp=1,2", "zero=0,1,2", "micro_batch=1,2", "overlap=none,all"};
  request.fix = {"cp=1",
                 "ep=1",
                 "cp_kind=ring",
                 "recompute=none",
                 "shard_ranks=0",
                 "offload=false",
                 "order=tp-cp-dp-pp",
                 "short_edges=false",
                 "sequence_parallel=true",
                 "schedule=1f1b",
                 "vpp=1"};
  const PlanSpace space = make_space(request);
  std::vector<std::unique_ptr<PlanSetting>> settings;
  settings.push_back(std::make_unique<PlanSetting>(space, 0, Calibration{}));
  for (const bool looks : {false, true}) {
    // The search asks before each layout that it bounds.
    int asked = 0;
    SearchOptions options;
    options.stop = [&asked, looks] { return ++asked > (looks ? 60 : 20); };
    options.large = looks ? 0 : options.large;
    options.first_look = first_look(space);
    options.top = 1;
    options.threads = 1;
    const SearchResult found = search_space(space, settings, options);
    const SearchCertificate& of = found.certificate;
    CHECK_FALSE(found.complete);
    CHECK(of.unvisited > 0);
    if (!looks) CHECK(of.unvisited < space.size());
    CHECK_FALSE(of.open_bound);
    std::uint64_t sum = of.memory + of.limits + of.bounded + of.simulated + of.not_simulated;
    for (const std::uint64_t count : of.rules) sum += count;
    CHECK(sum + of.undecided == space.size());
    // Without a layout that was found nothing is bounded away.
    if (found.best.empty()) CHECK(of.bounded == 0);
  }
}

}  // namespace lockstep::app
