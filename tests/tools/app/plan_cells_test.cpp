#include <doctest/doctest.h>

#include "tools/app/plan/plan.hpp"

using namespace lockstep;
using namespace lockstep::app;

namespace {

PlanRequest small() {
  PlanRequest request;
  request.space.model = "llama3-8b";
  request.space.cluster = "dgx-h100";
  request.space.nodes = 2;
  request.space.global_batch = 64;
  request.space.vary = {"tp=1,2,3,8", "pp=1,2", "zero=0,1,3", "micro_batch=1,2", "overlap=none"};
  request.space.fix = {"cp=1", "recompute=none", "order=tp-cp-dp-pp", "offload=false"};
  request.top = 1;
  return request;
}

}  // namespace

// Each point of the space has one tp and one pp, so that the cells share out what the certificate
// counts over all; and a bound of a cell is below the time of each layout in it.
TEST_CASE("plan: cells of tp and pp add up to the certificate") {
  const PlanResult result = plan(small());
  REQUIRE(result.cells.size() == 4 * 2);
  SearchCertificate sum;
  for (const SearchCell& cell : result.cells) {
    sum.points += cell.points;
    sum.memory += cell.memory;
    sum.limits += cell.limits;
    for (std::size_t i = 0; i < kPlanRules; ++i) sum.rules[i] += cell.rules[i];
  }
  CHECK(sum.points == result.certificate.points);
  CHECK(sum.memory == result.certificate.memory);
  CHECK(sum.limits == result.certificate.limits);
  CHECK(sum.rules == result.certificate.rules);
  CHECK(result.certificate.memory > 0);  // ZeRO-0 of 8 B on one GPU: 8 B * 16 bytes > 80 GB
  // 16 GPUs are not divided by tp 3: the whole cells are dropped by that rule.
  for (const SearchCell& cell : result.cells) {
    if (result.space.axis(LayoutKey::tp).values[cell.tp].number != 3) continue;
    CHECK(cell.rules[static_cast<std::size_t>(PlanRule::gpus)] == cell.points);
    CHECK_FALSE(cell.bound);
  }
  for (const SimulatedLayout& layout : result.simulated) {
    const std::uint64_t points = result.cells.front().points;
    const SearchCell& cell = result.cells[static_cast<std::size_t>(layout.index / points)];
    REQUIRE(cell.bound);
    CHECK(*cell.bound <= layout.step_s);
  }
}
