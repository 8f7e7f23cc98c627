#include "sim/engine/periodic_replay.hpp"

#include <doctest/doctest.h>

#include "tests/sim/engine/schedules.hpp"

/// Streams that repeat themselves, of few periods and of many.
namespace lockstep::test {
namespace {

/// Everybody to everybody over one link.
class OneLink final : public Router {
 public:
  bool route(EndpointId, EndpointId, Route& route) const override {
    route.clear();
    route.hops = {{0, kWeightUnit}};
    route.latency = 1_us;
    return true;
  }
};

[[nodiscard]] Network two_hosts() {
  Network out;
  out.endpoints.resize(2);
  out.links.push_back({Rate::bytes_per_second(1e9), 1_us, true});
  out.router = std::make_shared<OneLink>();
  return out;
}

[[nodiscard]] Activity compute(Duration time) {
  Activity out;
  out.duration = time;
  return out;
}

[[nodiscard]] Activity message(Activity::Kind kind, EndpointId peer) {
  Activity out;
  out.kind = kind;
  out.peer = peer;
  out.size = Bytes{5000};
  return out;
}

constexpr std::uint32_t kLength = 2;

/// Host 0 computes and sends, host 1 receives and computes.
[[nodiscard]] Workload chain(std::uint32_t periods, Duration first, Duration second) {
  Workload out;
  out.slots = Workload::kNoLimit;
  out.streams.resize(2);
  for (std::uint32_t i = 0; i < 2; ++i) out.streams[i].endpoint = i;
  for (std::uint32_t i = 0; i < periods; ++i) {
    out.streams[0].operations.push_back(compute(first));
    out.streams[0].operations.push_back(message(Activity::Kind::send, 1));
    out.streams[1].operations.push_back(message(Activity::Kind::receive, 0));
    out.streams[1].operations.push_back(compute(second));
  }
  return out;
}

[[nodiscard]] std::vector<RepeatingPart> parts(std::uint32_t periods) {
  return {{0, periods * kLength, kLength}, {0, periods * kLength, kLength}};
}

constexpr NetworkModel kFluid = NetworkModel::fluid;

}  // namespace

TEST_CASE("periods that settle are counted instead of replayed") {
  const Network network = two_hosts();
  const auto few = replay_periodic(network, chain(6, 20_us, 9_us), kFluid, parts(6), 994);
  REQUIRE(few);
  // The sender's period: it computes, and its send ends when the message has left, 5 us later.
  CHECK(few->period == 25_us);
  const ReplayResult many = replay(network, chain(1000, 20_us, 9_us), kFluid);
  CHECK(few->result.end.since_start() + few->period * 994 == many.end.since_start());
}

TEST_CASE("a receiver that falls behind more with every period does not settle") {
  CHECK_FALSE(replay_periodic(two_hosts(), chain(50, 20_us, 40_us), kFluid, parts(50), 1));
}

TEST_CASE("a period is no shorter than the host takes to launch it") {
  std::vector<RepeatingPart> slow = parts(6);
  slow[1].launch = 26_us;
  CHECK_FALSE(replay_periodic(two_hosts(), chain(6, 20_us, 9_us), kFluid, slow, 1));
}

// A launch takes 8 us, a period of two 16 us, the device 25 us. What comes after six periods is
// launched 100 us late: at 196 us, when the sender is done at 150 us. With every further period the
// host gains 9 us.
TEST_CASE("launches after the periods are as late as with all of them") {
  const Network network = two_hosts();
  const auto launched = [](std::uint32_t periods) {
    Workload out = chain(periods, 20_us, 9_us);
    std::vector<Activity>& sends = out.streams[0].operations;
    sends.push_back(compute(7_us));
    for (std::size_t i = 0; i < sends.size(); ++i)
      sends[i].not_before = TimePoint{8_us * static_cast<std::int64_t>(i)};
    sends.back().not_before = sends.back().not_before + 100_us;
    return out;
  };
  std::vector<RepeatingPart> repeats = parts(6);
  repeats[0].launch = 16_us;
  for (const std::uint32_t more : {1U, 3U, 5U, 6U, 20U, 500U}) {
    CAPTURE(more);
    const auto few = replay_periodic(network, launched(6), kFluid, repeats, more);
    REQUIRE(few);
    const ReplayResult many = replay(network, launched(6 + more), kFluid);
    CHECK(few->result.end.since_start() + few->period * std::int64_t{more} ==
          many.end.since_start());
  }
}

TEST_CASE("streams that wait for launches do not settle") {
  Workload late = chain(6, 20_us, 9_us);
  for (std::uint32_t i = 0; i < late.streams[0].operations.size(); ++i)
    late.streams[0].operations[i].not_before = TimePoint{30_us * std::int64_t{i}};
  CHECK_FALSE(replay_periodic(two_hosts(), late, kFluid, parts(6), 1));
}

TEST_CASE("the queue model and shared processors are replayed whole") {
  CHECK_FALSE(
      replay_periodic(two_hosts(), chain(6, 20_us, 9_us), NetworkModel::queue, parts(6), 1));
  Workload shared = chain(6, 20_us, 9_us);
  shared.streams[0].operations[0].processor = 0;
  CHECK_FALSE(replay_periodic(two_hosts(), shared, kFluid, parts(6), 1));
}

TEST_CASE("a workload whose speeds change has no periods") {
  Workload slower = chain(6, 20_us, 9_us);
  slower.speed_changes = {{0, TimePoint{40_us}, 500'000}};
  CHECK_FALSE(replay_periodic(two_hosts(), slower, kFluid, parts(6), 1));
}

}  // namespace lockstep::test
