#include "sim/symmetry/fold.hpp"

#include <doctest/doctest.h>

#include "tests/sim/engine/schedules.hpp"
#include "tests/sim/engine/star.hpp"
#include "tests/sim/symmetry/check_equal.hpp"
#include "tests/sim/symmetry/rings.hpp"

using namespace lockstep;
using test::check_equal;

namespace {

/// Two ranks a leaf; the way to another leaf takes `up` more. Ports 2i and 2i+1, then per leaf one
/// link up and one down.
class Leaves final : public Router {
 public:
  Leaves(EndpointId n, Duration up) : n_{n}, up_{up} {}
  [[nodiscard]] bool route(EndpointId from, EndpointId to, Route& route) const override {
    route.clear();
    if (from == to) return true;
    route.latency = 1_us;
    route.hops.push_back({2 * from});
    if (from / 2 != to / 2) {
      route.latency += up_;
      route.hops.push_back({2 * n_ + from / 2 * 2});
      route.hops.push_back({2 * n_ + to / 2 * 2 + 1});
    }
    route.hops.push_back({2 * to + 1});
    return true;
  }

 private:
  EndpointId n_;
  Duration up_;
};

Network leaves(EndpointId n) {
  Network network;
  network.endpoints.resize(n);
  network.links.resize(std::size_t{2} * n, {1_GBps, {}, true});
  network.links.resize(std::size_t{3} * n, {1_GBps, {}, false});
  network.router = std::make_shared<Leaves>(n, 4_us);
  return network;
}

}  // namespace

TEST_CASE("a ring on a star is one class, whose rounds are skipped once they go on alike") {
  const Network star = test::star(8, 1_GBps, 2_us, {});
  const Workload workload = test::ring(8, 100, Bytes{1000});
  const FoldedReplay folded = replay_folded(star, workload, NetworkModel::fluid);
  CHECK(folded.report.folded);
  CHECK(folded.report.classes.size() == 1);
  CHECK(folded.report.classes[0].members == 8);
  CHECK(folded.report.rounds == 100);
  // The first round already takes as long as every other.
  CHECK(folded.report.rounds_skipped == 99);
  // 2 us and 1000 bytes at 1 GB/s, a hundred times.
  CHECK(folded.result.end.since_start() == 300_us);
  check_equal(folded, replay(star, workload, NetworkModel::fluid));
}

TEST_CASE(
    "a ring over leaves of two has the class that sends to its neighbour and the one that "
    "crosses") {
  const Network network = leaves(12);
  const Workload workload = test::ring(12, 40, Bytes{1000});
  const FoldedReplay folded = replay_folded(network, workload, NetworkModel::fluid);
  REQUIRE(folded.report.classes.size() == 2);
  CHECK(folded.report.classes[0].members == 6);
  CHECK(folded.report.classes[1].members == 6);
  CHECK(folded.report.classes[0].difference.empty());
  CHECK(folded.report.classes[1].difference == "sends over 5 us (4 links) instead of 1 us (2)");
  const auto ranges = folded.report.ranges();
  REQUIRE(ranges[1].size() == 6);
  CHECK(ranges[1][0].first == 1);
  CHECK(ranges[1][5].last == 11);
  check_equal(folded, replay(network, workload, NetworkModel::fluid));
}

TEST_CASE("a rank that starts later makes every rank of a ring different, at its distance") {
  const Network star = test::star(6, 1_GBps, 2_us, {});
  Workload workload = test::ring(6, 30, Bytes{1000});
  workload.calls[0].starts.resize(6);
  workload.calls[0].starts[2] = TimePoint{9_us};
  const FoldedReplay folded = replay_folded(star, workload, NetworkModel::fluid);
  CHECK(folded.report.classes.size() == 6);
  CHECK(folded.report.classes[2].difference == "starts 9 us later");
  check_equal(folded, replay(star, workload, NetworkModel::fluid));
}

TEST_CASE("a narrower port splits the classes of those whom it touches and of their neighbours") {
  Network star = test::star(6, 1_GBps, 2_us, {});
  star.links[0].bandwidth = Rate::bytes_per_second(300'000'000);
  const Workload workload = test::ring(6, 30, Bytes{1000});
  for (const NetworkModel model : {NetworkModel::fluid, NetworkModel::alpha_beta}) {
    const FoldedReplay folded = replay_folded(star, workload, model);
    CHECK(folded.report.classes.size() == 6);
    check_equal(folded, replay(star, workload, model));
  }
}

TEST_CASE("rings of several calls fold into one another") {
  const Network star = test::star(12, 1_GBps, 2_us, {});
  Workload workload;
  for (EndpointId first : {0U, 4U, 8U}) {
    workload.calls.push_back(test::ring(4, 10, Bytes{1000}).calls[0]);
    for (EndpointId& member : workload.calls.back().members) member += first;
  }
  workload.calls[1].starts.assign(4, TimePoint{7_us});
  const FoldedReplay folded = replay_folded(star, workload, NetworkModel::fluid);
  // Those that begin at once, and those that begin later.
  REQUIRE(folded.report.classes.size() == 2);
  CHECK(folded.report.classes[0].members == 8);
  check_equal(folded, replay(star, workload, NetworkModel::fluid));
}

TEST_CASE("calls that share end points are distinguished by their order there") {
  const Network star = test::star(4, 1_GBps, 2_us, {Duration{}, 3_GBps, std::nullopt});
  Workload workload = test::ring(4, 10, Bytes{1000});
  workload.calls.push_back(test::ring(4, 7, Bytes{5000}).calls[0]);
  const FoldedReplay folded = replay_folded(star, workload, NetworkModel::fluid);
  CHECK(folded.report.classes.size() == 2);
  check_equal(folded, replay(star, workload, NetworkModel::fluid));
}

TEST_CASE("what cannot be folded is replayed as it is, and says so") {
  const Network star = test::star(4, 1_GBps, 2_us, {});
  const Workload workload = test::ring(4, 10, Bytes{1000});
  const FoldedReplay queued = replay_folded(star, workload, NetworkModel::queue);
  CHECK_FALSE(queued.report.folded);
  CHECK(queued.report.why_not == "the queue model distinguishes all messages");
  check_equal(queued, replay(star, workload, NetworkModel::queue));
  FoldOptions few;
  few.most_relations = 3;
  const FoldedReplay many = replay_folded(star, workload, NetworkModel::fluid, few);
  CHECK_FALSE(many.report.folded);
  check_equal(many, replay(star, workload, NetworkModel::fluid));
}

TEST_CASE("work that takes less than a picosecond adds up, folded or not") {
  // Seven send a byte to rank 0, which reduces 4 TB/s: 1.75 ps, 2 to the nearest. Its port takes
  // their bytes in turns: 7 ns.
  const Network star = test::star(8, 1_GBps, 2_us, {Duration{}, 4000_GBps, std::nullopt});
  const auto gather = [](int rank, int, std::int64_t, ScheduleStep& step) {
    if (rank > 0) step.sends.push_back({0, {Buffer::data, 0, 1}});
    for (int peer = 1; rank == 0 && peer < 8; ++peer)
      step.receives.push_back({peer, {Buffer::data, 0, 1}, Combine::reduce});
  };
  const Workload workload = test::one_call(std::make_shared<test::Scripted>(8, 1, 1, gather), 1_B);
  const ReplayResult whole = replay(star, workload, NetworkModel::fluid);
  CHECK(whole.end.since_start() == 2_us + 7_ns + 2_ps);
  check_equal(replay_folded(star, workload, NetworkModel::fluid), whole);
}
