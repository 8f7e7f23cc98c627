#include "sim/reuse/learned_ends.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <random>

#include "sim/engine/replay.hpp"
#include "tests/sim/engine/schedules.hpp"
#include "tests/sim/engine/star.hpp"

/// Ends that are known from an earlier call against the replay of every transfer.
namespace lockstep::test {
namespace {

constexpr fold::Key kShape{1, 2};

std::vector<TimePoint> at(std::initializer_list<int> microseconds) {
  std::vector<TimePoint> out;
  for (const int each : microseconds) out.push_back(TimePoint{1_us * each});
  return out;
}

/// Members end 3 us after the last begin, each by its place later; counts how often it is asked.
struct Counting {
  int& asked;
  std::vector<TimePoint> operator()(const std::vector<TimePoint>& begins) const {
    ++asked;
    CHECK(*std::min_element(begins.begin(), begins.end()) == TimePoint{});
    std::vector<TimePoint> out;
    const TimePoint last = *std::max_element(begins.begin(), begins.end());
    for (std::size_t i = 0; i < begins.size(); ++i)
      out.push_back(last + 1_us * (3 + static_cast<std::int64_t>(i)));
    return out;
  }
};

TEST_CASE("a call that begins as an earlier one did, at another time, ends as that did") {
  LearnedEnds learned;
  const std::uint32_t shape = learned.add_shape(kShape);
  CHECK(learned.add_shape(kShape) == shape);
  int asked = 0;
  const Counting replay{asked};
  CHECK(learned.ends(shape, at({5, 9, 6}), replay) == at({12, 13, 14}));
  CHECK(asked == 1);
  CHECK(learned.ends(shape, at({105, 109, 106}), replay) == at({112, 113, 114}));
  CHECK(asked == 1);
  // Other members are late; then a call of another shape.
  CHECK(learned.ends(shape, at({5, 6, 9}), replay) == at({12, 13, 14}));
  CHECK(asked == 2);
  CHECK(learned.ends(learned.add_shape({3, 4}), at({5, 9, 6}), replay) == at({12, 13, 14}));
  CHECK(asked == 3);
}

TEST_CASE("a shape whose calls are met more often than their ends are known is given up") {
  for (const bool same : {false, true}) {
    CAPTURE(same);
    LearnedEnds learned;
    const std::uint32_t shape = learned.add_shape(kShape);
    int asked = 0;
    int calls = 0;
    for (; calls < 200 && learned.pays(shape); ++calls) {
      static_cast<void>(learned.ends(shape, at({0, same ? 1 : calls}), Counting{asked}));
      learned.count_met(shape);
    }
    CHECK(asked == (same ? 1 : calls));
    // A call that is met after its ends were known has cost nothing.
    CHECK((calls == 200) == same);
  }
}

TEST_CASE("the network of a call carries it as the whole network does") {
  constexpr EndpointId kHosts = 9;
  std::mt19937_64 draw{5};
  const Network whole = star(kHosts, 1_GBps, 3_us);
  for (int n = 2; n <= 5; ++n) {
    const auto schedule = std::make_shared<Scripted>(n, 1, 1, exchange_all(n));
    CollectiveCall call{"all_to_all", schedule, {}, Bytes{5000}, {}};
    std::vector<MessageWay> ways;
    for (EndpointId member = 0; member < static_cast<EndpointId>(n); ++member)
      call.members.push_back((2 * member + 3) % kHosts);
    for (const EndpointId from : call.members)
      for (const EndpointId to : call.members)
        if (from != to) ways.push_back({from, to, 0});
    const TightRoutes routes{whole, false, ways};
    const Network own = network_of_call(whole, call, ways, routes);
    CHECK(own.endpoints.size() == static_cast<std::size_t>(n));
    // A message between two is alone on both its links, of which one is enough.
    CHECK(own.links.size() == (n == 2 ? 2 : 2 * static_cast<std::size_t>(n)));
    for (int i = 0; i < 20; ++i) {
      call.starts.clear();
      for (int member = 0; member < n; ++member)
        call.starts.push_back(TimePoint{1_us * static_cast<std::int64_t>(draw() % 20)});
      Workload workload;
      workload.calls.push_back(call);
      CHECK(
          replay(own, one_call(schedule, call.block, call.starts), NetworkModel::fluid).call_ends ==
          replay(whole, workload, NetworkModel::fluid).call_ends);
    }
  }
}

}  // namespace
}  // namespace lockstep::test
