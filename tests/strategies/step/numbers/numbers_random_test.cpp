#include <doctest/doctest.h>

#include <string>

#include "tests/strategies/step/numbers/numbers_harness.hpp"
#include "tests/strategies/step/random_plans.hpp"

namespace lockstep::test {
namespace {

TEST_CASE("random plans compute what one device does") {
  int done = 0;
  for (const test::RandomPlan& drawn : test::random_plans(20261122, 60)) {
    const test::RandomPlan plan = test::shrunk(drawn);
    if (!test::possible(plan)) continue;
    const std::string text = test::to_string(plan);
    CAPTURE(text);
    check(plan.model, plan.parallel, static_cast<std::uint64_t>(++done));
  }
  CHECK(done >= 40);
}

}  // namespace
}  // namespace lockstep::test
