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

/// The network must outlive it.
HeldPlan::Takes times_alone(const Network& network) {
  return [&network](int from, int to, int, Bytes bytes) {
    Route route;
    REQUIRE(
        network.router->route(static_cast<EndpointId>(from), static_cast<EndpointId>(to), route));
    return time_alone(network, route, bytes);
  };
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
    const HeldPlan::Takes takes = times_alone(network);
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

namespace {

/// Every two endpoints have a link of their own.
class Mesh final : public Router {
 public:
  explicit Mesh(EndpointId endpoints) : endpoints_{endpoints} {}
  bool route(EndpointId from, EndpointId to, Route& route) const override {
    route.clear();
    route.hops = {{from * endpoints_ + to}};
    route.latency = 1_us * (1 + from % 3);
    return true;
  }

 private:
  EndpointId endpoints_;
};

/// Ranks 0 to n - 1 send to rank n in one lane, which sends each step on to all in another.
std::shared_ptr<const Schedule> hub(int n, std::int64_t steps) {
  return std::make_shared<Scripted>(
      n + 1, 2, steps, [n](int rank, int lane, std::int64_t index, ScheduleStep& step) {
        const auto chunk = [index](int of) { return Chunk{Buffer::data, 0, 1 + (of + index) % 3}; };
        if (rank < n) {
          if (lane == 0) step.sends.push_back({n, chunk(rank), 0});
          if (lane == 1) step.receives.push_back({n, chunk(rank + 1), Combine::copy, 1});
          return;
        }
        for (int of = 0; of < n; ++of) {
          if (lane == 0) step.receives.push_back({of, chunk(of), Combine::reduce, 0});
          if (lane == 1) step.sends.push_back({of, chunk(of + 1), 1});
        }
        if (lane == 1) step.after.push_back({0, index});
      });
}

}  // namespace

TEST_CASE("lanes that wait for each other end as if every transfer had been replayed") {
  std::mt19937_64 draw{5};
  for (int n = 1; n <= 6; ++n) {
    const auto endpoints = static_cast<EndpointId>(n + 1);
    Network network;
    for (EndpointId i = 0; i < endpoints * endpoints; ++i)
      network.links.push_back({i % 2 == 0 ? 1_GBps : 3_GBps, Duration{}, true});
    network.endpoints.assign(endpoints, Endpoint{});
    network.router = std::make_shared<Mesh>(endpoints);
    CollectiveCall call = call_of(hub(n, 5));
    const HeldPlan::Takes takes = times_alone(network);
    const auto plan = HeldPlan::of(call, takes, 1000);
    REQUIRE(plan);
    CHECK_FALSE(plan->one_each_way());
    const auto longer = [&](int from, int to, int channel, Bytes bytes) {
      return takes(from, to, channel, bytes) + 1_us * from;
    };
    const std::vector<TimePoint> at_once(endpoints);
    CHECK(plan->with(longer).ends(at_once) == HeldPlan::of(call, longer, 1000)->ends(at_once));
    CHECK(plan->with(longer).ends(at_once) != plan->ends(at_once));
    for (int i = 0; i < 20; ++i) {
      call.starts.clear();
      for (int rank = 0; rank <= n; ++rank)
        call.starts.push_back(TimePoint{1_us * static_cast<std::int64_t>(draw() % 20)});
      Workload workload;
      workload.calls.push_back(call);
      CHECK(plan->ends(call.starts) ==
            replay(network, workload, NetworkModel::fluid).call_ends.front());
    }
  }
}

TEST_CASE("there is a plan only where all wait for all, with one message a connection at a time") {
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
  // All send to all at once, or all of it twice.
  const auto all_to_all = [&](int times) {
    return std::make_shared<Scripted>(3, 1, 1,
                                      [&, times](int rank, int, std::int64_t, ScheduleStep& step) {
                                        for (int i = 0; i < 3 * times; ++i)
                                          if (const int other = i % 3; other != rank) {
                                            send(step, other);
                                            receive(step, other);
                                          }
                                      });
  };
  const auto once = plan_of(all_to_all(1));
  REQUIRE(once);
  CHECK_FALSE(once->one_each_way());
  CHECK_FALSE(plan_of(all_to_all(2)));
  // Two lanes of one connection, and slots.
  const auto exchange = [&](int rank, int, std::int64_t, ScheduleStep& step) {
    send(step, 1 - rank);
    receive(step, 1 - rank);
  };
  CHECK(plan_of(std::make_shared<Scripted>(2, 1, 1, exchange)));
  CHECK_FALSE(plan_of(std::make_shared<Scripted>(2, 2, 1, exchange)));
  CHECK_FALSE(plan_of(std::make_shared<Scripted>(2, 1, 1, exchange, 2)));
}
