#include <doctest/doctest.h>
#include <fmt/format.h>

#include <random>

#include "sim/engine/event_loop/engine.hpp"
#include "sim/engine/replay_reusing.hpp"
#include "tests/sim/engine/schedules.hpp"

/// Calls that are taken for known, held against the same workload replayed transfer by transfer.
namespace lockstep::test {
namespace {

/// Hosts in groups of `group` on a switch each, and all of them on one further switch.
class TwoPlanes final : public Router {
 public:
  TwoPlanes(EndpointId hosts, EndpointId group, bool apart)
      : hosts_{hosts}, group_{group}, apart_{apart} {}
  bool route(EndpointId from, EndpointId to, Route& route) const override {
    route.clear();
    const bool near = apart_ && from / group_ == to / group_;
    const LinkId first = near ? 0 : 2 * hosts_;
    route.hops = {{first + 2 * from, kWeightUnit}, {first + 2 * to + 1, kWeightUnit}};
    route.latency = near ? 1_us : 3_us;
    return true;
  }

 private:
  EndpointId hosts_;
  EndpointId group_;
  bool apart_;
};

/// A step of its own making: per rank a stream that computes, one that calls all-reduces within
/// groups, one that calls them across groups, and messages to the next group.
struct Case {
  Network network;
  Workload workload;
};

constexpr EndpointId kGroup = 4;

Activity compute(Duration time) {
  Activity out;
  out.duration = time;
  return out;
}

std::uint32_t add_calls(Workload& workload, EndpointId hosts, bool near, Bytes block,
                        const std::shared_ptr<const Schedule>& ring) {
  const auto first = static_cast<std::uint32_t>(workload.calls.size());
  const EndpointId calls = near ? hosts / kGroup : kGroup;
  for (EndpointId c = 0; c < calls; ++c) {
    CollectiveCall call{near ? "near" : "far", ring, {}, block, {}};
    for (EndpointId i = 0; i < hosts; ++i)
      if ((near ? i / kGroup : i % kGroup) == c) call.members.push_back(i);
    workload.calls.push_back(std::move(call));
  }
  return first;
}

Activity calls(std::uint32_t first, EndpointId host, bool near) {
  Activity out;
  out.kind = Activity::Kind::collective;
  out.call = first + (near ? host / kGroup : host % kGroup);
  out.member = near ? host % kGroup : host / kGroup;
  return out;
}

void add_message(Workload& workload, EndpointId hosts, EndpointId host, ActivityRef after) {
  Activity send;
  send.kind = Activity::Kind::send;
  send.peer = (host + kGroup) % hosts;
  send.size = Bytes{5000};
  send.after = {after};
  Activity receive = send;
  receive.kind = Activity::Kind::receive;
  receive.peer = (host + hosts - kGroup) % hosts;
  receive.after = {};
  workload.streams[4 * host + 3].operations.push_back(send);
  workload.streams[4 * host + 3].operations.push_back(receive);
}

/// Times are whole microseconds, so that many things happen at one instant.
Case drawn(std::uint64_t seed) {
  Draw draw{std::mt19937_64{seed}};
  const EndpointId hosts = kGroup * static_cast<EndpointId>(2 + draw.below(2));
  Case out;
  const Endpoint endpoint{Duration{}, draw.one_in(3) ? std::nullopt : std::optional{2_GBps}};
  out.network.links.assign(4 * std::size_t{hosts}, Link{1_GBps, Duration{}, true});
  out.network.endpoints.assign(hosts, endpoint);
  out.network.router = std::make_shared<TwoPlanes>(hosts, kGroup, !draw.one_in(4));
  Workload& workload = out.workload;
  workload.slots = Workload::kNoLimit;
  if (draw.one_in(2)) workload.slowed_permille = 1250;
  const auto straggler = static_cast<EndpointId>(draw.below(2 * hosts));
  for (EndpointId host = 0; host < hosts; ++host)
    for (const char* name : {"compute", "near", "far", "messages"})
      workload.streams.push_back({host, name, {}});
  const auto near = std::make_shared<TinyRing>(static_cast<int>(kGroup), draw.one_in(2));
  const auto far = std::make_shared<TinyRing>(static_cast<int>(hosts / kGroup), true);
  const std::int64_t operations = 4 + draw.below(10);
  for (std::int64_t i = 0; i < operations; ++i) {
    const Duration time = 1_us * (1 + draw.below(40));
    const bool calls_near = !draw.one_in(4);
    const bool calls_far = draw.one_in(3);
    const bool waits = draw.one_in(2);
    const bool sends = draw.one_in(5);
    const std::uint32_t first_near =
        calls_near ? add_calls(workload, hosts, true, Bytes{1000}, near) : 0;
    const std::uint32_t first_far =
        calls_far ? add_calls(workload, hosts, false, Bytes{3000}, far) : 0;
    for (EndpointId host = 0; host < hosts; ++host) {
      const std::uint32_t own = 4 * host;
      auto& computes = workload.streams[own].operations;
      computes.push_back(compute(host == straggler ? time + time : time));
      const ActivityRef done{own, static_cast<std::uint32_t>(computes.size() - 1)};
      const auto add = [&](std::uint32_t stream, Activity call) {
        auto& list = workload.streams[own + stream].operations;
        list.push_back(compute(1_us));  // a launch
        list.back().after = {done};
        list.push_back(std::move(call));
      };
      if (calls_near) add(1, calls(first_near, host, true));
      if (calls_far) add(2, calls(first_far, host, false));
      if (sends) add_message(workload, hosts, host, done);
      if (!calls_near || !waits) continue;
      auto& list = workload.streams[own + 1].operations;
      computes.push_back(compute({}));
      computes.back().after = {{own + 1, static_cast<std::uint32_t>(list.size() - 1)}};
    }
  }
  return out;
}

/// Four hosts on one switch: pairs reduce after every computation of 10 us, and all four after each
/// twentieth, over the same links; if `sends`, host 0 sends host 1 a message in between.
Case shared_links(bool sends) {
  Case out;
  out.network.links.assign(16, Link{1_GBps, Duration{}, true});
  out.network.endpoints.assign(kGroup, Endpoint{Duration{}, 2_GBps});
  out.network.router = std::make_shared<TwoPlanes>(kGroup, kGroup, false);
  Workload& workload = out.workload;
  workload.slots = Workload::kNoLimit;
  workload.slowed_permille = 1250;
  const auto pair = std::make_shared<TinyRing>(2, true);
  const auto all = std::make_shared<TinyRing>(static_cast<int>(kGroup), true);
  for (EndpointId host = 0; host < kGroup; ++host)
    for (const char* name : {"compute", "all", "messages"})
      workload.streams.push_back({host, name, {}});
  Activity call;
  call.kind = Activity::Kind::collective;
  for (std::uint32_t i = 0; i < 70; ++i) {
    const auto first = static_cast<std::uint32_t>(workload.calls.size());
    workload.calls.push_back({"pair", pair, {0, 1}, Bytes{1000}, {}});
    workload.calls.push_back({"pair", pair, {2, 3}, Bytes{1000}, {}});
    if (i % 20 == 0) workload.calls.push_back({"all", all, {0, 1, 2, 3}, Bytes{4000}, {}});
    for (EndpointId host = 0; host < kGroup; ++host) {
      std::vector<Activity>& computes = workload.streams[3 * host].operations;
      const ActivityRef before{3 * host, static_cast<std::uint32_t>(computes.size())};
      computes.push_back(compute(4_us));
      computes.push_back(compute(6_us));
      call.call = first + host / 2;
      call.member = host % 2;
      computes.push_back(call);
      if (i % 20 == 0) {
        Activity of_all = call;
        of_all.call = first + 2;
        of_all.member = host;
        of_all.after = {before};
        workload.streams[3 * host + 1].operations.push_back(of_all);
      }
      if (!sends || i % 20 != 10 || host > 1) continue;
      Activity message;
      message.kind = host == 0 ? Activity::Kind::send : Activity::Kind::receive;
      message.peer = 1 - host;
      message.size = Bytes{5000};
      message.after = {before};
      workload.streams[3 * host + 2].operations.push_back(message);
    }
  }
  return out;
}

struct Replayed {
  ReplayResult result;
  std::int64_t instants = 0;
};

Replayed play(const Case& of, NetworkModel model, bool reuses) {
  Engine engine{of.network, of.workload, model, reuses};
  Replayed out;
  while (engine.advance()) ++out.instants;
  out.result = engine.result();
  return out;
}

void check_equal(const ReplayResult& a, const ReplayResult& b) {
  CHECK(a.stream_ends == b.stream_ends);
  CHECK(a.call_ends == b.call_ends);
  CHECK(a.link_bytes == b.link_bytes);
  CHECK(a.transfers == b.transfers);
  CHECK(a.end == b.end);
  CHECK(a.unfinished.empty());
  CHECK(b.unfinished.empty());
}

}  // namespace

TEST_CASE("workloads that reuse what they know end as when every transfer is replayed") {
  std::int64_t plain = 0;
  std::int64_t reusing = 0;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    Case of = drawn(seed);
    if (seed % 3 == 0)
      add_slow_windows(of.workload, static_cast<EndpointId>(of.network.endpoints.size()),
                       replay(of.network, of.workload, NetworkModel::fluid).end, seed);
    for (const NetworkModel model : {NetworkModel::fluid, NetworkModel::alpha_beta}) {
      CAPTURE(seed);
      const Replayed every = play(of, model, false);
      const Replayed known = play(of, model, true);
      check_equal(every.result, known.result);
      plain += every.instants;
      reusing += known.instants;
    }
  }
  // Not by replaying everything either way.
  MESSAGE(reusing << " instants instead of " << plain);
  CHECK(20 * reusing < 19 * plain);
}

TEST_CASE("calls are reused between others on the same links") {
  for (const bool sends : {false, true}) {
    CAPTURE(sends);
    const Case of = shared_links(sends);
    const Replayed every = play(of, NetworkModel::fluid, false);
    const Replayed known = play(of, NetworkModel::fluid, true);
    check_equal(every.result, known.result);
    // Most calls of pairs are far from those of all: were none reused, nothing would be saved.
    CHECK(3 * known.instants < 2 * every.instants);
  }
}

TEST_CASE("an engine that reuses copies, and both go on alike") {
  const Case of = drawn(7);
  const ReplayResult whole = replay(of.network, of.workload, NetworkModel::fluid);
  Engine engine{of.network, of.workload, NetworkModel::fluid, true};
  bool more = true;
  while (more) {
    more = engine.advance();
    Engine copy(engine);
    while (copy.advance()) {
    }
    check_equal(copy.result(), whole);
  }
}

TEST_CASE("what costs senders time, or takes turns, is not reused") {
  Case of = drawn(1);
  CHECK(can_reuse(of.network, of.workload, NetworkModel::fluid));
  CHECK_FALSE(can_reuse(of.network, of.workload, NetworkModel::queue));
  of.workload.streams[0].operations[0].processor = 0;
  CHECK_FALSE(can_reuse(of.network, of.workload, NetworkModel::fluid));
  of = drawn(1);
  of.network.endpoints[0].message_overhead = 1_us;
  CHECK_FALSE(can_reuse(of.network, of.workload, NetworkModel::fluid));
}

namespace {

/// Four hosts on two switches: neighbours of a ring talk over one, those opposite over the other.
class Opposite final : public Router {
 public:
  bool route(EndpointId from, EndpointId to, Route& route) const override {
    route.clear();
    const LinkId first = (from + 2) % 4 == to ? 8 : 0;
    route.hops = {{first + 2 * from, kWeightUnit}, {first + 2 * to + 1, kWeightUnit}};
    return true;
  }
};

/// All four hosts reduce twice; hosts 0 and 2 also among themselves, from `later` on.
Case disturbed(Duration later) {
  Case out;
  out.network.links.assign(16, Link{1_GBps, Duration{}, true});
  out.network.endpoints.assign(4, Endpoint{Duration{}, Rate::bytes_per_second(100'000'000)});
  out.network.router = std::make_shared<Opposite>();
  Workload& workload = out.workload;
  for (int i = 0; i < 2; ++i) {
    workload.calls.push_back({"all", std::make_shared<TinyRing>(4), {0, 1, 2, 3}, Bytes{1000}, {}});
    workload.calls.push_back({"two", std::make_shared<TinyRing>(2), {0, 2}, Bytes{1000}, {}});
  }
  const auto call = [](std::uint32_t id, std::uint32_t member) {
    Activity of;
    of.kind = Activity::Kind::collective;
    of.call = id;
    of.member = member;
    return of;
  };
  for (EndpointId host = 0; host < 4; ++host)
    workload.streams.push_back({host, "all", {call(0, host), call(2, host)}});
  for (const EndpointId host : {0U, 2U})
    workload.streams.push_back(
        {host, "two", {compute(later), call(1, host / 2), call(3, host / 2)}});
  return out;
}

}  // namespace

TEST_CASE("a call during which an end point reduces for another is replayed") {
  // An all-reduce of four takes 3 * (1 + 10) + 3 us: reductions are slow. That of two, over links
  // of its own, begins before, within and after the first, and delays its reductions where it is
  // within.
  for (const std::int64_t later : {0, 5, 15, 25, 36, 40, 71, 100}) {
    CAPTURE(later);
    const Case of = disturbed(1_us * later);
    const ReplayResult every = play(of, NetworkModel::fluid, false).result;
    check_equal(every, play(of, NetworkModel::fluid, true).result);
    if (later == 100) CHECK(every.stream_ends[0][1] == TimePoint{72_us});
    if (later == 25) CHECK(every.stream_ends[0][1] > TimePoint{72_us});
  }
}

TEST_CASE("streams that follow one pattern do what they do written out") {
  // Every host's four streams as patterns of their own, with member_slots, peers and stream numbers
  // taken out.
  for (const std::uint64_t seed : {2, 5, 9, 11}) {
    CAPTURE(seed);
    const Case out = drawn(seed);
    Case shared = out;
    for (std::uint32_t s = 0; s < shared.workload.streams.size(); ++s) {
      Stream& stream = shared.workload.streams[s];
      stream.first_stream = s / 4 * 4;
      for (Activity& of : stream.operations) {
        for (ActivityRef& ref : of.after) ref.stream -= stream.first_stream;
        if (of.kind == Activity::Kind::collective) {
          stream.calls.push_back({of.call, of.member});
          of.call = static_cast<std::uint32_t>(stream.calls.size() - 1);
        } else if (of.kind != Activity::Kind::compute) {
          stream.messages.push_back({of.peer, of.tag});
          of.peer = static_cast<EndpointId>(stream.messages.size() - 1);
        }
      }
      // Host 0's serve all hosts whose computation takes as long.
      const Stream& first = shared.workload.streams[s % 4];
      const bool alike = shared.workload.streams[s / 4 * 4].operations.size() ==
                             shared.workload.streams[0].operations.size() &&
                         out.workload.streams[s / 4 * 4].operations.back().duration ==
                             out.workload.streams[0].operations.back().duration &&
                         out.workload.streams[s / 4 * 4].operations.front().duration ==
                             out.workload.streams[0].operations.front().duration;
      stream.pattern = s >= 4 && alike
                           ? first.pattern
                           : std::make_shared<const std::vector<Activity>>(stream.operations);
    }
    for (Stream& stream : shared.workload.streams) stream.operations.clear();
    for (const bool reuses : {false, true})
      check_equal(play(out, NetworkModel::fluid, false).result,
                  play(shared, NetworkModel::fluid, reuses).result);
  }
}

TEST_CASE("a call of one member happens as often as its stream names it") {
  // Computation between, and another stream's beside it that is slowed down by what is under way:
  // once with a call for each time, once with one for all.
  const auto played = [](bool one_for_all, bool reuses) {
    Network network;
    network.links.assign(2, Link{1_GBps, Duration{}, true});
    network.endpoints.assign(1, Endpoint{});
    network.router = std::make_shared<TwoPlanes>(1, 1, true);
    Workload workload;
    workload.slowed_permille = 1250;
    const auto schedule = std::make_shared<Murmur>(3);
    workload.streams = {{0, "calls", {}}, {0, "computes", {}}};
    for (std::uint32_t i = 0; i < 4; ++i) {
      if (i == 0 || !one_for_all)
        workload.calls.push_back({"murmur", schedule, {0}, Bytes{1000}, {}});
      Activity call;
      call.kind = Activity::Kind::collective;
      call.call = one_for_all ? 0 : i;
      workload.streams[0].operations.push_back(call);
      workload.streams[0].operations.push_back(compute(2_us));
      workload.streams[1].operations.push_back(compute(5_us));
    }
    return reuses ? replay_reusing(network, workload, NetworkModel::fluid)
                  : replay(network, workload, NetworkModel::fluid);
  };
  const ReplayResult apart = played(false, false);
  CHECK(apart.unfinished.empty());
  // 1 + 2 + 3 kB at 1 GB/s and a latency of 1 us for each, four times, and 2 us after each.
  CHECK(apart.end == TimePoint{} + 44_us);
  for (const bool reuses : {false, true}) {
    const ReplayResult once = played(true, reuses);
    CHECK(once.unfinished.empty());
    CHECK(once.stream_ends == apart.stream_ends);
    CHECK(once.link_bytes == apart.link_bytes);
    CHECK(once.transfers == apart.transfers);
  }
}

TEST_CASE("computation beside a call of copy engines is as fast as without") {
  const auto computed = [](bool on_copy_engines, bool reuses) {
    Network network;
    network.links.assign(2, Link{1_GBps, Duration{}, true});
    network.endpoints.assign(1, Endpoint{});
    network.router = std::make_shared<TwoPlanes>(1, 1, true);
    Workload workload;
    workload.slowed_permille = 1250;
    workload.calls.push_back({"murmur", std::make_shared<Murmur>(3), {0}, Bytes{1000}, {}});
    workload.calls.front().slowed_permille = 1500;
    workload.calls.front().on_copy_engines = on_copy_engines;
    Activity call;
    call.kind = Activity::Kind::collective;
    workload.streams = {{0, "calls", {call}}, {0, "computes", {compute(4_us)}}};
    const ReplayResult result = reuses ? replay_reusing(network, workload, NetworkModel::fluid)
                                       : replay(network, workload, NetworkModel::fluid);
    return result.stream_ends[1].back().since_start();
  };
  // The call takes 9 us: 1 + 2 + 3 kB at 1 GB/s and 1 us for each.
  for (const bool reuses : {false, true}) {
    CHECK(computed(false, reuses) == 6_us);  // 4 us at 1.5 times
    CHECK(computed(true, reuses) == 4_us);
  }
}

TEST_CASE("a call of several members happens as often as all of them come to it") {
  Network network;
  network.links.assign(8, Link{1_GBps, Duration{}, true});
  network.endpoints.assign(2, Endpoint{});
  network.router = std::make_shared<TwoPlanes>(2, 2, true);
  Workload workload;
  workload.calls.push_back({"ring", std::make_shared<TinyRing>(2), {0, 1}, Bytes{1000}, {}});
  for (EndpointId host = 0; host < 2; ++host) {
    Activity call;
    call.kind = Activity::Kind::collective;
    call.member = host;
    workload.streams.push_back({host, "calls", {call, call}});
  }
  const ReplayResult result = replay(network, workload, NetworkModel::fluid);
  for (const auto& ends : result.stream_ends)
    CHECK(ends[1].since_start() == ends[0].since_start() * 2);
  const ReplayResult reusing = replay_reusing(network, workload, NetworkModel::fluid, {});
  CHECK(reusing.stream_ends == result.stream_ends);
  CHECK(reusing.transfers == result.transfers);
}

}  // namespace lockstep::test
