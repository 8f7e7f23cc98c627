#include "sim/reuse/held_plan.hpp"

#include <doctest/doctest.h>

#include <random>

#include "sim/engine/replay.hpp"
#include "tests/sim/engine/schedules.hpp"
#include "tests/sim/engine/star.hpp"

/// Ends by maxima and sums against the replay of every transfer.
using namespace lockstep;
using namespace lockstep::test;

namespace {

CollectiveCall call_of(std::shared_ptr<const Schedule> schedule) {
  CollectiveCall out;
  for (int rank = 0; rank < schedule->ranks(); ++rank)
    out.members.push_back(static_cast<EndpointId>(rank));
  out.schedule = std::move(schedule);
  out.block = Bytes{1000};
  return out;
}

std::optional<HeldPlan> plan_of(std::shared_ptr<const Schedule> schedule, std::size_t most = 100) {
  return HeldPlan::of(
      call_of(std::move(schedule)), [](int, int, int, Bytes) { return 1_us; }, most);
}

}  // namespace

TEST_CASE("members of a ring end as if every transfer had been replayed, whenever they begin") {
  std::mt19937_64 draw{3};
  for (int n = 2; n <= 9; ++n) {
    const Network network = star(static_cast<EndpointId>(n), 1_GBps, 3_us);
    CollectiveCall call = call_of(std::make_shared<TinyRing>(n));
    const auto takes = [&](int from, int to, int, Bytes bytes) {
      Route route;
      REQUIRE(
          network.router->route(static_cast<EndpointId>(from), static_cast<EndpointId>(to), route));
      return time_alone(network, route, bytes);
    };
    const auto plan = HeldPlan::of(call, takes, 1000);
    REQUIRE(plan);
    for (int i = 0; i < 20; ++i) {
      call.starts.clear();
      for (int rank = 0; rank < n; ++rank)
        call.starts.push_back(TimePoint{1_us * static_cast<std::int64_t>(draw() % 60)});
      Workload workload;
      workload.calls.push_back(call);
      CHECK(plan->ends(call.starts) ==
            replay(network, workload, NetworkModel::fluid).call_ends.front());
    }
  }
}

TEST_CASE("there is a plan only where all wait for all, with one message each way at a time") {
  CHECK(plan_of(std::make_shared<TinyRing>(4)));
  CHECK_FALSE(plan_of(std::make_shared<TinyRing>(4), 23));  // 4 times 6 steps
  const auto send = [](ScheduleStep& step, int to) { step.sends.push_back({to, {}}); };
  const auto receive = [](ScheduleStep& step, int from) {
    step.receives.push_back({from, {}, Combine::copy});
  };
  // Rank 0 sends to rank 1, then rank 1 to rank 2: rank 0 ends whether or not rank 2 has begun.
  CHECK_FALSE(plan_of(std::make_shared<Scripted>(
      3, 1, 2, [&](int rank, int, std::int64_t index, ScheduleStep& step) {
        if (rank == 0 && index == 0) send(step, 1);
        if (rank == 1 && index == 0) receive(step, 0);
        if (rank == 1 && index == 1) send(step, 2);
        if (rank == 2 && index == 1) receive(step, 1);
      })));
  // All send to all at once.
  CHECK_FALSE(plan_of(
      std::make_shared<Scripted>(3, 1, 1, [&](int rank, int, std::int64_t, ScheduleStep& step) {
        for (int other = 0; other < 3; ++other)
          if (other != rank) {
            send(step, other);
            receive(step, other);
          }
      })));
  // Two lanes, and slots.
  const auto exchange = [&](int rank, int, std::int64_t, ScheduleStep& step) {
    send(step, 1 - rank);
    receive(step, 1 - rank);
  };
  CHECK(plan_of(std::make_shared<Scripted>(2, 1, 1, exchange)));
  CHECK_FALSE(plan_of(std::make_shared<Scripted>(2, 2, 1, exchange)));
  CHECK_FALSE(plan_of(std::make_shared<Scripted>(2, 1, 1, exchange, 2)));
}
