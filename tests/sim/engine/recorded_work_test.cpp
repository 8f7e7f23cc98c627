#include <doctest/doctest.h>

#include <array>
#include <memory>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "sim/engine/event_loop/engine.hpp"
#include "sim/engine/replay_reusing.hpp"
#include "tests/sim/engine/schedules.hpp"

/// Endpoints that follow the record of another, held against the same workload in which each is
/// replayed on its own.
namespace lockstep::test {
namespace {

/// Every host has two links to itself, and two to a switch for all others.
class OwnPlanes final : public Router {
 public:
  explicit OwnPlanes(EndpointId hosts) : hosts_{hosts} {}
  bool route(EndpointId from, EndpointId to, Route& route) const override {
    route.clear();
    const LinkId first = from == to ? 0 : 2 * hosts_;
    route.hops = {{first + 2 * from, kWeightUnit}, {first + 2 * to + 1, kWeightUnit}};
    route.latency = from == to ? 1_us : 3_us;
    return true;
  }

 private:
  EndpointId hosts_;
};

struct Case {
  Network network;
  Workload workload;
};

/// Host 0 sends a message to each worker in every round, at times of its own. Workers have one
/// program: computation and calls of one member beside and after each other, a ring of all workers
/// now and then, messages to the next worker, launches by a host, and a stream that computes a
/// little from time to time.
class Drawn {
 public:
  explicit Drawn(std::uint64_t seed) : draw_{std::mt19937_64{seed}} {
    workers_ = static_cast<EndpointId>(2 + draw_.below(5));
    const EndpointId hosts = workers_ + 1;
    out_.network.links.assign(4 * std::size_t{hosts}, Link{1_GBps, Duration{}, true});
    out_.network.endpoints.assign(hosts, Endpoint{});
    if (draw_.one_in(3))
      for (Endpoint& endpoint : out_.network.endpoints) endpoint.reduce_rate = 2_GBps;
    out_.network.router = std::make_shared<OwnPlanes>(hosts);
    out_.workload.slots = Workload::kNoLimit;
    if (!draw_.one_in(3)) out_.workload.slowed_permille = 1000 + 13 * draw_.below(20);
    // Collectives of their own kernels slow computation down by more than others.
    for (std::int64_t& slowed : slowed_)
      if (draw_.one_in(4)) slowed += 100 * draw_.below(4);
    const std::int64_t rounds = 1 + draw_.below(8);
    for (std::int64_t i = 0; i < rounds; ++i) add_round();
    write();
  }
  Case take() { return std::move(out_); }

 private:
  enum Name : std::uint32_t { computes, murmurs, messages, rings, small };
  static constexpr std::uint32_t kStreams = 5;

  Activity& add(Name stream) { return program_[stream].emplace_back(); }
  [[nodiscard]] ActivityRef last(Name stream) const {
    return {stream, static_cast<std::uint32_t>(program_[stream].size() - 1)};
  }
  [[nodiscard]] bool has(Name stream) const { return !program_[stream].empty(); }

  void add_round() {
    Activity& receive = add(messages);
    receive.kind = Activity::Kind::receive;
    receive.peer = kDriver;
    receive.size = Bytes{2000};
    if (draw_.one_in(2)) add(messages).duration = 4_us;
    bool received = false;
    const std::int64_t operations = 5 + draw_.below(40);
    for (std::int64_t i = 0; i < operations; ++i) {
      Activity& compute = add(computes);
      compute.duration = 1_us * (1 + draw_.below(9)) + 1_ps * draw_.below(1000);
      if (!received && !draw_.one_in(4)) {
        compute.after.push_back(last(messages));
        received = true;
      }
      if (has(murmurs) && draw_.one_in(3)) compute.after.push_back(last(murmurs));
      launch(compute);
      if (draw_.one_in(12)) waited_for_ = last(computes);
      if (draw_.one_in(2)) call(murmurs);
      if (draw_.one_in(60)) call(rings);
      if (has(rings) && draw_.one_in(60)) {
        Activity& late = add(computes);
        late.duration = 2_us;
        late.after.push_back(last(rings));
      }
      if (draw_.one_in(50)) {
        const ActivityRef after = last(draw_.one_in(2) ? messages : computes);
        Activity& side = add(small);
        side.duration = 3_us;
        side.after.push_back(after);
      }
    }
    if (draw_.one_in(2)) pass_on();
  }

  /// At a time of its own, or so long after another operation that it depends on.
  void launch(Activity& operation) {
    if (draw_.one_in(8)) operation.not_before = TimePoint{} + 1_us * draw_.below(300);
    if (!operation.after.empty() && draw_.one_in(4)) {
      operation.launched_after = *operation.after.begin();
      operation.not_before = TimePoint{} + 1_us * draw_.below(4);
    } else if (waited_for_ && draw_.one_in(3)) {
      operation.launched_after = waited_for_;
      operation.not_before = TimePoint{} + 1_us * draw_.below(150);
    }
  }

  void call(Name stream) {
    const ActivityRef after = last(computes);
    const bool waits = stream == rings || draw_.one_in(2);
    Activity& of = add(stream);
    of.kind = Activity::Kind::collective;
    of.call = static_cast<std::uint32_t>(stream == rings ? rings_called_++ : draw_.below(3));
    if (waits) of.after.push_back(after);
    if (stream == murmurs && draw_.one_in(20) && waits) {
      of.launched_after = after;
      of.not_before = TimePoint{} + 2_us;
    }
  }

  void pass_on() {
    const ActivityRef after = last(computes);
    Activity& send = add(messages);
    send.kind = Activity::Kind::send;
    send.peer = kNext;
    send.size = Bytes{3000};
    send.after.push_back(after);
    Activity& receive = add(messages);
    receive.kind = Activity::Kind::receive;
    receive.peer = kBefore;
    receive.size = Bytes{3000};
  }

  void write() {
    Workload& workload = out_.workload;
    add_driver();
    std::vector<std::shared_ptr<const std::vector<Activity>>> patterns;
    for (const std::vector<Activity>& stream : program_) patterns.push_back(pattern_of(stream));
    const auto ring = std::make_shared<TinyRing>(static_cast<int>(workers_), true);
    for (std::uint32_t i = 0; i < rings_called_; ++i) {
      CollectiveCall call{"ring", ring, {}, Bytes{2000}, {}};
      for (EndpointId w = 0; w < workers_; ++w) call.members.push_back(1 + w);
      call.slowed_permille = slowed_[0];
      workload.calls.push_back(std::move(call));
    }
    for (EndpointId w = 0; w < workers_; ++w) {
      const auto first_call = static_cast<std::uint32_t>(workload.calls.size());
      for (int steps = 1; steps <= 3; ++steps) {
        CollectiveCall call{"murmur", std::make_shared<Murmur>(steps), {1 + w}, Bytes{700}, {}};
        call.slowed_permille = slowed_[static_cast<std::size_t>(steps)];
        workload.calls.push_back(std::move(call));
      }
      const auto first = static_cast<std::uint32_t>(workload.streams.size());
      for (std::uint32_t s = 0; s < kStreams; ++s) {
        Stream stream{1 + w, "stream", {}, patterns[s]};
        stream.first_stream = first;
        for (const Activity& of : program_[s]) {
          if (of.kind == Activity::Kind::collective) {
            stream.calls.push_back(s == rings ? CallMemberSlot{of.call, w}
                                              : CallMemberSlot{first_call + of.call, 0});
          } else if (of.kind != Activity::Kind::compute) {
            stream.messages.push_back({peer(w, of.peer), 0});
          }
        }
        workload.streams.push_back(std::move(stream));
      }
    }
  }

  [[nodiscard]] EndpointId peer(EndpointId worker, EndpointId role) const {
    if (role == kDriver) return 0;
    return 1 + (worker + (role == kNext ? 1 : workers_ - 1)) % workers_;
  }

  /// With calls and messages by their places in the stream's lists.
  static std::shared_ptr<const std::vector<Activity>> pattern_of(
      const std::vector<Activity>& stream) {
    auto out = std::make_shared<std::vector<Activity>>(stream);
    std::uint32_t call = 0;
    EndpointId message = 0;
    for (Activity& of : *out) {
      if (of.kind == Activity::Kind::collective) {
        of.call = call++;
      } else if (of.kind != Activity::Kind::compute) {
        of.peer = message++;
      }
    }
    return out;
  }

  void add_driver() {
    Stream driver{0, "driver", {}};
    const bool together = draw_.one_in(3);
    for (const Activity& of : program_[messages]) {
      if (of.kind != Activity::Kind::receive || of.peer != kDriver) continue;
      for (EndpointId w = 0; w < workers_; ++w) {
        if (!together)
          driver.operations.emplace_back().duration =
              1_us * draw_.below(draw_.one_in(2) ? 20 : 150);
        Activity& send = driver.operations.emplace_back();
        send.kind = Activity::Kind::send;
        send.peer = 1 + w;
        send.size = of.size;
      }
    }
    out_.workload.streams.push_back(std::move(driver));
  }

  static constexpr EndpointId kDriver = 0;
  static constexpr EndpointId kNext = 1;
  static constexpr EndpointId kBefore = 2;
  Draw draw_;
  EndpointId workers_ = 0;
  Case out_;
  std::vector<std::vector<Activity>> program_ = std::vector<std::vector<Activity>>(kStreams);
  std::uint32_t rings_called_ = 0;
  std::array<std::int64_t, 4> slowed_{1000, 1000, 1000, 1000};  // rings, murmurs of 1 .. 3 steps
  std::optional<ActivityRef> waited_for_;                       // a computation, by the host
};

}  // namespace

TEST_CASE("endpoints that follow a record end at the same picosecond as replayed ones") {
  std::uint64_t followed = 0;
  std::uint64_t operations = 0;
  std::uint64_t stuck = 0;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    CAPTURE(seed);
    const Case of = Drawn{seed}.take();
    const ReplayResult each = replay(of.network, of.workload, NetworkModel::fluid);
    Engine engine{of.network, of.workload, NetworkModel::fluid, true};
    engine.record_work();
    engine.advance_to_end({});
    followed += engine.operations_followed();
    for (const Stream& stream : of.workload.streams) operations += stream.all().size();
    const ReplayResult once = engine.take_result();
    stuck += each.unfinished.empty() ? 0 : 1;
    REQUIRE(once.unfinished.size() == each.unfinished.size());
    if (!each.unfinished.empty()) continue;
    REQUIRE(once.end == each.end);
    REQUIRE(once.stream_ends == each.stream_ends);
    REQUIRE(once.call_ends == each.call_ends);
    REQUIRE(once.link_bytes == each.link_bytes);
    REQUIRE(once.transfers == each.transfers);
  }
  CHECK(stuck < 300);
  // Of two workers or more, one at least is replayed; many steps are too short for records.
  CHECK(4 * followed > operations);
}

}  // namespace lockstep::test
