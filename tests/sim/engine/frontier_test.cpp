#include "sim/engine/matching/frontier.hpp"

#include <doctest/doctest.h>

#include <utility>
#include <vector>

#include "sim/engine/event_loop/engine.hpp"
#include "tests/sim/engine/schedules.hpp"
#include "tests/sim/engine/star.hpp"

using namespace lockstep;
using namespace lockstep::test;

namespace {

class Guest final : public ExternalMember {
 public:
  using Named = std::pair<std::uint32_t, TimePoint>;

  void begun(std::uint32_t place) override { began.emplace_back(place, engine->now()); }
  void done(std::uint32_t place) override { ended.emplace_back(place, engine->now()); }

  const Engine* engine = nullptr;
  std::vector<Named> began;
  std::vector<Named> ended;
};

}  // namespace

TEST_CASE("an external member is notified when its transfers start and end") {
  // Rank 0, from 5 us on, sends 1000 bytes to the guest, then receives as many from it: 1 us for
  // the bytes and 1 us of latency each.
  const Network network = star(2, 1_GBps, 1_us);
  const Workload workload = one_call(
      std::make_shared<Scripted>(2, 1, 2,
                                 [](int rank, int, std::int64_t index, ScheduleStep& step) {
                                   if (rank != 0) return;
                                   if (index == 0)
                                     step.sends.push_back({1, {Buffer::data, 0, 1}});
                                   else
                                     step.receives.push_back({1, {Buffer::data, 0, 1}});
                                 }),
      1000_B, {TimePoint{5_us}, TimePoint{}});
  Guest guest;
  Engine engine(network, workload, NetworkModel::fluid, guest, 1);
  guest.engine = &engine;
  const Post receive{.sending = false, .bytes = 1000, .place = 7};
  const Post send{.sending = true, .bytes = 1000, .place = 8};
  engine.post_at(TimePoint{2_us}, 0, 0, receive);  // waits for rank 0
  engine.post_at(TimePoint{9_us}, 0, 0, send);     // rank 0 waits for it
  while (engine.advance()) {
  }
  CHECK(guest.began == std::vector<Guest::Named>{{7, TimePoint{5_us}}, {8, TimePoint{9_us}}});
  CHECK(guest.ended == std::vector<Guest::Named>{{7, TimePoint{7_us}}, {8, TimePoint{11_us}}});
}
