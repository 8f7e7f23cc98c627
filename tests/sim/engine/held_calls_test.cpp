#include "sim/engine/held_calls.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <numeric>
#include <random>

#include "sim/engine/event_loop/engine.hpp"
#include "sim/network/maxmin/sparse_shares.hpp"
#include "tests/sim/engine/schedules.hpp"
#include "tests/sim/engine/star.hpp"

/// Calls without events against the same calls replayed; reuse_test.cpp and recorded_work_test.cpp
/// compare random workloads.
namespace lockstep::test {
namespace {

constexpr EndpointId kHosts = 4;
constexpr EndpointId kOnBus = kHosts + 2;  // the last two call nothing

/// Every host has a link to a bus that all messages cross, and one from it.
class Bus final : public Router {
 public:
  bool route(EndpointId from, EndpointId to, Route& route) const override {
    route.clear();
    route.hops = {{2 * from}, {2 * kOnBus}, {2 * to + 1}};
    route.latency = 1_us;
    return true;
  }
};

Network bus(Rate bandwidth) {
  Network out;
  out.links.assign(std::size_t{2} * kOnBus, Link{1_GBps, Duration{}, true});
  out.links.push_back({bandwidth, Duration{}, false});
  out.endpoints.assign(kOnBus, Endpoint{});
  out.router = std::make_shared<Bus>();
  return out;
}

/// Host i computes for 7 i us, then calls a ring of all.
Workload late_ring() {
  Workload out;
  out.calls.push_back({"ring", std::make_shared<TinyRing>(kHosts), {0, 1, 2, 3}, Bytes{6000}, {}});
  out.slots = Workload::kNoLimit;
  for (EndpointId host = 0; host < kHosts; ++host) {
    Activity before;
    before.duration = 7_us * host;
    Activity call;
    call.kind = Activity::Kind::collective;
    call.member = host;
    out.streams.push_back({host, "main", {before, call}});
  }
  return out;
}

struct Replayed {
  ReplayResult result;
  int instants = 0;
};

Replayed play(const Network& network, const Workload& workload, bool reuses) {
  Engine engine{network, workload, NetworkModel::fluid, reuses};
  Replayed out;
  while (engine.advance()) ++out.instants;
  out.result = engine.take_result();
  return out;
}

/// Checks that nothing but the number of instants differs; returns those left out.
int left_out(const Network& network, const Workload& workload) {
  const Replayed every = play(network, workload, false);
  const Replayed held = play(network, workload, true);
  CHECK(held.result.stream_ends == every.result.stream_ends);
  CHECK(held.result.call_ends == every.result.call_ends);
  CHECK(held.result.link_bytes == every.result.link_bytes);
  CHECK(held.result.transfers == every.result.transfers);
  CHECK(held.result.end == every.result.end);
  CHECK(held.result.unfinished.size() == every.result.unfinished.size());
  return every.instants - held.instants;
}

TEST_CASE("a ring whose members come late has no events but their begins and ends") {
  // Six steps, each of an arrival of first and of last bytes at least.
  CHECK(left_out(star(kHosts, 1_GBps, 1_us), late_ring()) > 6);
  CHECK(left_out(bus(8_GBps), late_ring()) > 6);
}

/// Every two hosts have a link of their own.
class Mesh final : public Router {
 public:
  bool route(EndpointId from, EndpointId to, Route& route) const override {
    route.clear();
    route.hops = {{from * kHosts + to}};
    route.latency = 1_us;
    return true;
  }
};

/// The first three hosts call a reduction by the last, which no stream of its own calls: it takes
/// what they send in one lane, and sends it on in another.
Workload late_hub() {
  Workload out = late_ring();
  out.streams.pop_back();
  out.calls.front().schedule =
      std::make_shared<Scripted>(static_cast<int>(kHosts), 2, 4,
                                 [](int rank, int lane, std::int64_t index, ScheduleStep& step) {
                                   const int hub = static_cast<int>(kHosts) - 1;
                                   const Chunk block{Buffer::data, index, 1};
                                   if (rank < hub && lane == 0)
                                     step.sends.push_back({hub, block, 0});
                                   if (rank < hub && lane == 1)
                                     step.receives.push_back({hub, block, Combine::copy, 1});
                                   for (int of = 0; rank == hub && of < hub; ++of) {
                                     if (lane == 0)
                                       step.receives.push_back({of, block, Combine::reduce, 0});
                                     if (lane == 1) step.sends.push_back({of, block, 1});
                                   }
                                   if (rank == hub && lane == 1) step.after.push_back({0, index});
                                 });
  return out;
}

TEST_CASE("a call of several lanes with a member that no stream calls has no events either") {
  Network mesh;
  mesh.links.assign(std::size_t{kHosts} * kHosts, Link{1_GBps, Duration{}, true});
  mesh.endpoints.assign(kHosts, Endpoint{});
  mesh.router = std::make_shared<Mesh>();
  // Four steps each way, each of an arrival of first and of last bytes at least.
  CHECK(left_out(mesh, late_hub()) > 8);
  // What the hub sends to all shares its port, but nobody else does.
  CHECK(left_out(star(kHosts, 1_GBps, 1_us), late_hub()) > 8);
}

TEST_CASE("a ring whose messages share a link with each other has no events either") {
  CHECK(left_out(bus(2_GBps), late_ring()) > 6);
}

/// Calls all-to-alls, computing for so long before each, per host and round.
Workload exchanges(const std::vector<std::vector<Duration>>& computed) {
  Workload out;
  out.slots = Workload::kNoLimit;
  const auto hosts = static_cast<int>(computed.size());
  const auto schedule = std::make_shared<Scripted>(hosts, 1, 1, exchange_all(hosts));
  std::vector<EndpointId> members(computed.size());
  std::iota(members.begin(), members.end(), EndpointId{0});
  for (std::size_t i = 0; i < computed.front().size(); ++i)
    out.calls.push_back({"all_to_all", schedule, members, Bytes{6000}, {}});
  for (const EndpointId host : members) {
    out.streams.push_back({host, "main", {}});
    for (std::uint32_t i = 0; i < computed[host].size(); ++i) {
      Activity before;
      before.duration = computed[host][i];
      Activity call;
      call.kind = Activity::Kind::collective;
      call.call = i;
      call.member = host;
      out.streams.back().operations.insert(out.streams.back().operations.end(), {before, call});
    }
  }
  return out;
}

TEST_CASE("an all-to-all whose members come late has no events but their begins and ends") {
  const Workload once = exchanges({{0_us}, {5_us}, {7_us}, {11_us}});
  const std::vector<Duration> each(10, 20_us);
  const std::vector<Duration> late(10, 30_us);
  const Workload often = exchanges({each, each, each, late});
  for (const Network& network : {star(kHosts, 1_GBps, 1_us), bus(8_GBps), bus(2_GBps)}) {
    // Transfers of three begins meet, so that they end at three instants at least.
    CHECK(left_out(network, once) >= 3);
    CHECK(left_out(network, often) >= 10);
  }
}

/// `carried`: the weight of what it puts on links.
Workload weighted(Workload of, TrafficWeight carried) {
  for (CollectiveCall& call : of.calls) call.traffic_weight = carried;
  return of;
}

/// A message beside `of`, over a stream of its own at both its ends.
void add_message(Workload& of, EndpointId from, EndpointId to, Duration at, Bytes size) {
  // Each has a tag of its own, so that no two are of one connection.
  Activity wait;
  wait.duration = at;
  Activity send;
  send.kind = Activity::Kind::send;
  send.peer = to;
  send.size = size;
  send.tag = static_cast<std::uint32_t>(of.streams.size());
  Activity receive = send;
  receive.kind = Activity::Kind::receive;
  receive.peer = from;
  of.streams.push_back({from, "sends", {wait, send}});
  of.streams.push_back({to, "receives", {receive}});
}

TEST_CASE("what crosses a link that members share has an all-to-all replayed from its beginning") {
  const Workload alone = exchanges({{0_us}, {5_us}, {7_us}, {11_us}});
  const Network network = bus(2_GBps);
  const TimePoint end = play(network, alone, false).result.call_ends.front().front();
  for (const Duration at : {1_us, 6_us, 12_us, 25_us, 35_us, 200_us}) {
    CAPTURE(at.ps());
    Workload workload = alone;
    add_message(workload, kHosts, kHosts + 1, at, Bytes{9000});
    static_cast<void>(left_out(network, workload));
    // All share the bus, so that the message makes the call take longer, unless it comes too late.
    const TimePoint with = play(network, workload, true).result.call_ends.front().front();
    CHECK((with > end) == (TimePoint{at} < end));
  }
}

TEST_CASE("all-to-alls beside messages and other calls end as when every transfer is replayed") {
  int fewer = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 draw{seed};
    const auto below = [&](int n) { return static_cast<int>(draw() % static_cast<unsigned>(n)); };
    std::vector<std::vector<Duration>> computed(kHosts);
    const int rounds = 1 + below(6);
    const bool repeats = below(2) == 0;
    for (auto& of_host : computed)
      for (int i = 0; i < rounds; ++i)
        of_host.push_back(repeats && i > 1 ? of_host[1] : 1_us * below(30));
    Workload workload = weighted(exchanges(computed), below(3) == 0 ? 2 : 1);
    if (below(3) == 0) {  // of two members over the same links, from other streams
      const auto pair = std::make_shared<Scripted>(2, 1, 1, exchange_all(2));
      workload.calls.push_back({"pair", pair, {1, 3}, Bytes{7000}, {}});
      for (std::uint32_t member = 0; member < 2; ++member) {
        Activity before;
        before.duration = 1_us * below(90);
        Activity call;
        call.kind = Activity::Kind::collective;
        call.call = static_cast<std::uint32_t>(workload.calls.size() - 1);
        call.member = member;
        workload.streams.push_back({2 * member + 1, "pair", {before, call}});
      }
    }
    for (int messages = below(3); messages > 0; --messages) {
      const auto from = static_cast<EndpointId>(below(5));
      const EndpointId to = from < kHosts ? (from + 1) % kHosts : from + 1;
      add_message(workload, from, to, 1_us * below(150), Bytes{1000 * below(9)});
    }
    const Network networks[] = {star(kOnBus, 1_GBps, 1_us), bus(3_GBps), bus(8_GBps)};
    fewer += left_out(networks[below(3)], workload) > 0 ? 1 : 0;
  }
  CHECK(fewer > 100);  // something was left out
}

TEST_CASE("an all-to-all too large for sparse shares is met as if every transfer were replayed") {
  // Each sends to all others at once.
  constexpr EndpointId kMany = 16;
  static_assert(kMany - 1 > maxmin::SparseShares::kMost);
  const Network network = star(kMany + 1, 1_GBps, 1_us);
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 draw{seed};
    const auto below = [&](int n) { return static_cast<int>(draw() % static_cast<unsigned>(n)); };
    std::vector<std::vector<Duration>> computed(kMany);
    for (auto& of_host : computed)
      for (int i = 0; i < 3; ++i) of_host.push_back(1_us * below(40));
    Workload workload = exchanges(computed);
    for (int messages = 1 + below(3); messages > 0; --messages) {
      const auto from = static_cast<EndpointId>(below(kMany));
      // The last host calls nothing.
      add_message(workload, from, kMany, 1_us * below(400), Bytes{1000 * below(90)});
    }
    static_cast<void>(left_out(network, workload));
  }
}

TEST_CASE("what comes to a link of a ring has it replayed from its beginning") {
  for (const Duration at : {5_us, 22_us, 30_us, 47_us, 60_us}) {
    CAPTURE(at.ps());
    Workload workload = late_ring();
    Activity wait;
    wait.duration = at;
    Activity send;
    send.kind = Activity::Kind::send;
    send.peer = 2;
    send.size = Bytes{9000};
    Activity receive = send;
    receive.kind = Activity::Kind::receive;
    receive.peer = 1;
    workload.streams.push_back({1, "sends", {wait, send}});
    workload.streams.push_back({2, "receives", {receive}});
    static_cast<void>(left_out(star(kHosts, 1_GBps, 1_us), workload));
  }
}

TEST_CASE("a copy of an engine goes on with its held calls after the original is gone") {
  const Network network = star(kHosts, 1_GBps, 1_us);
  const Workload workload = late_ring();
  const ReplayResult expected = play(network, workload, false).result;
  for (int instants = 0; instants < 5; ++instants) {
    auto original = std::make_unique<Engine>(network, workload, NetworkModel::fluid, true);
    for (int i = 0; i < instants; ++i) REQUIRE(original->advance());
    Engine copy{*original};
    original.reset();
    while (copy.advance()) {
    }
    CHECK(copy.take_result().stream_ends == expected.stream_ends);
  }
}

TEST_CASE("a ring that a member never comes to is reported with what its others wait for") {
  Workload workload = late_ring();
  Activity& never = workload.streams[2].operations.front();
  never.kind = Activity::Kind::receive;
  never.peer = 1;
  never.size = Bytes{1};
  const Network network = star(kHosts, 1_GBps, 1_us);
  static_cast<void>(left_out(network, workload));
  const std::vector<Unfinished> expected = play(network, workload, false).result.unfinished;
  const std::vector<Unfinished> told = play(network, workload, true).result.unfinished;
  REQUIRE(told.size() == expected.size());
  CHECK(told.size() > 3);
  for (std::size_t i = 0; i < told.size(); ++i) CHECK(told[i].text == expected[i].text);
}

}  // namespace
}  // namespace lockstep::test
