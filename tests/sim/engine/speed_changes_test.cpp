#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <random>

#include "sim/engine/replay.hpp"
#include "sim/engine/replay_reusing.hpp"
#include "tests/sim/engine/schedules.hpp"

namespace lockstep {
namespace {

using test::Draw;

/// Two endpoints that only compute.
Network two_endpoints() {
  Network out;
  out.endpoints.assign(2, Endpoint{});
  return out;
}

Activity computation(Duration time) {
  Activity out;
  out.duration = time;
  return out;
}

/// Endpoint 0 does these computations one after the other.
Workload computing(std::vector<Duration> times) {
  Workload out;
  out.streams.push_back({0, "compute", {}});
  for (const Duration time : times) out.streams.front().operations.push_back(computation(time));
  return out;
}

std::vector<TimePoint> ends_of(const Workload& workload) {
  const Network network = two_endpoints();
  const ReplayResult plain = replay(network, workload, NetworkModel::fluid);
  CHECK(replay_reusing(network, workload, NetworkModel::fluid).stream_ends == plain.stream_ends);
  CHECK(plain.end == *std::max_element(plain.stream_ends[0].begin(), plain.stream_ends[0].end()));
  return plain.stream_ends[0].all();
}

constexpr TimePoint at(Duration time) {
  return TimePoint{time};
}

}  // namespace

TEST_CASE("computation in flight goes on at the new speed") {
  Workload workload = computing({10_us, 6_us});
  workload.speed_changes = {{0, at(4_us), 500'000}, {0, at(8_us), SpeedChange::kNormal}};
  // 4 us of work until 4 us, 2 until 8 us at half the speed, the other 4 until 12 us; 6 more.
  CHECK(ends_of(workload) == std::vector{at(12_us), at(18_us)});
}

TEST_CASE("a window spans several computations and begins or ends between them") {
  Workload workload = computing({2_us, 3_us, 5_us});
  workload.speed_changes = {{0, at(2_us), 250'000}, {0, at(14_us), SpeedChange::kNormal}};
  CHECK(ends_of(workload) == std::vector{at(2_us), at(14_us), at(19_us)});
}

TEST_CASE("a speed from the start on is that of all computation") {
  Workload workload = computing({2_us, 3_us});
  workload.speed_changes = {{0, at({}), 800'000}};
  CHECK(ends_of(workload) == std::vector{at(2'500_ns), at(6'250_ns)});
}

TEST_CASE("of changes at one instant the last counts") {
  Workload workload = computing({10_us});
  workload.speed_changes = {
      {0, at(4_us), 500'000}, {0, at(4_us), SpeedChange::kNormal}, {0, at(4_us), 250'000}};
  CHECK(ends_of(workload) == std::vector{at(28_us)});
}

TEST_CASE("changes elsewhere, after the end, or of no operation at the time have no effect") {
  Workload workload = computing({10_us});
  workload.streams.front().operations.front().not_before = at(5_us);
  workload.speed_changes = {{1, at(6_us), 500'000},
                            {0, at(1_us), 500'000},
                            {0, at(5_us), SpeedChange::kNormal},
                            {0, at(20_us), 500'000}};
  CHECK(ends_of(workload) == std::vector{at(15_us)});
}

TEST_CASE("what takes its time at any speed does so") {
  Workload workload = computing({10_us, 10_us});
  workload.streams.front().operations.front().any_speed = true;
  workload.speed_changes = {{0, at(4_us), 500'000}};
  CHECK(ends_of(workload) == std::vector{at(10_us), at(30_us)});
}

TEST_CASE("speed and collectives slow computation down together") {
  // A call of known duration from 0 to 8 us, during which computation takes 1.25 of its time.
  Workload workload = computing({10_us});
  workload.slowed_permille = 1250;
  workload.calls.push_back({"call", nullptr, {0, 1}, Bytes{1}, {}, 8_us});
  for (const EndpointId endpoint : {0U, 1U}) {
    Activity call;
    call.kind = Activity::Kind::collective;
    call.member = endpoint;
    workload.streams.push_back({endpoint, "calls", {call}});
  }
  workload.speed_changes = {{0, at(5_us), 500'000}};
  // 4 us of work until 5 us; 1.2 until 8 us, 2.5 us each; the other 4.8 us take twice as long.
  CHECK(ends_of(workload) == std::vector{at(17'600_ns)});
}

TEST_CASE("drawn changes: the work done is the integral of the speed") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    Draw draw{std::mt19937_64{seed}};
    std::vector<Duration> times;
    for (std::int64_t i = 1 + draw.below(6); i > 0; --i) times.push_back(1_us * draw.below(30));
    Workload workload = computing(times);
    TimePoint when;
    for (std::int64_t i = draw.below(8); i > 0; --i) {
      when = when + 1_us * draw.below(20) + 1_ps * draw.below(1000);
      workload.speed_changes.push_back({0, when, 1 + draw.below(SpeedChange::kNormal)});
    }
    const std::vector<TimePoint> ends = ends_of(workload);
    Duration done;
    for (std::size_t i = 0; i < times.size(); ++i) {
      done = done + times[i];
      // In picoseconds times millionths, exactly.
      Int128 integral = 0;
      TimePoint from;
      std::int64_t speed = SpeedChange::kNormal;
      for (const SpeedChange& change : workload.speed_changes) {
        const TimePoint to = std::min(change.at, ends[i]);
        integral += Int128{(to - from).ps()} * speed;
        from = to;
        if (change.at < ends[i]) speed = change.ppm;
      }
      integral += Int128{(ends[i] - from).ps()} * speed;
      const Int128 error = integral - Int128{done.ps()} * SpeedChange::kNormal;
      // Each change and each operation rounds to half a picosecond, of wall time at its speed.
      const Int128 most = Int128{SpeedChange::kNormal} *
                          static_cast<std::int64_t>(workload.speed_changes.size() + i + 1);
      CHECK(error <= most);
      CHECK(-error <= most);
    }
  }
}

}  // namespace lockstep
