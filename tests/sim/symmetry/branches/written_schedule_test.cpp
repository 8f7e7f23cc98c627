#include "sim/symmetry/branches/written_schedule.hpp"

#include <doctest/doctest.h>

#include "tests/sim/engine/schedules.hpp"

namespace lockstep::fold {
namespace {

TEST_CASE("a schedule that is written down has the steps of the one it was made from") {
  const auto ring = std::make_shared<test::TinyRing>(5);
  const std::shared_ptr<const Schedule> same = written(ring, 5 * 8);
  REQUIRE(same != ring);
  CHECK(same->ranks() == 5);
  CHECK(same->blocks() == 5);
  CHECK(same->slots() == ring->slots());
  CHECK(same->phases().size() == ring->phases().size());
  for (int rank = 0; rank < 5; ++rank) {
    REQUIRE(same->steps(rank, 0) == ring->steps(rank, 0));
    for (std::int64_t i = 0; i < ring->steps(rank, 0); ++i) {
      ScheduleStep a;
      ScheduleStep b;
      ring->step(rank, 0, i, a);
      same->step(rank, 0, i, b);
      REQUIRE(b.sends.size() == 1);
      CHECK(b.sends[0].peer == a.sends[0].peer);
      CHECK(b.sends[0].chunk.first == a.sends[0].chunk.first);
      REQUIRE(b.receives.size() == 1);
      CHECK(b.receives[0].peer == a.receives[0].peer);
      CHECK(b.receives[0].combine == a.receives[0].combine);
    }
  }
}

TEST_CASE("a schedule of too many steps stays as it is") {
  const auto ring = std::make_shared<test::TinyRing>(5);
  CHECK(written(ring, 5 * 8 - 1) == ring);
}

}  // namespace
}  // namespace lockstep::fold
