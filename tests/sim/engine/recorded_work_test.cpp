#include <doctest/doctest.h>

#include <array>
#include <memory>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "sim/engine/event_loop/engine.hpp"
#include "sim/engine/replay_reusing.hpp"
#include "sim/schedule/own_operations.hpp"
#include "tests/sim/engine/schedules.hpp"

/// Endpoints that follow the record of another, held against the same workload in which each is
/// replayed on its own.
namespace lockstep::test {
namespace {

constexpr EndpointId kMostTogether = 4;

/// Every host has two links for each distance to the others of its group, itself among them, and
/// two to a switch for all others. Host 0 is in no group.
class OwnPlanes final : public Router {
 public:
  OwnPlanes(EndpointId hosts, EndpointId together) : hosts_{hosts}, together_{together} {}
  bool route(EndpointId from, EndpointId to, Route& route) const override {
    route.clear();
    const bool near = from > 0 && to > 0 && (from - 1) / together_ == (to - 1) / together_;
    const EndpointId plane = near ? (to + together_ - from) % together_ : kMostTogether;
    const LinkId first = plane * 2 * hosts_;
    route.hops = {{first + 2 * from, kWeightUnit}, {first + 2 * to + 1, kWeightUnit}};
    route.latency = near ? 1_us : 3_us;
    return true;
  }

 private:
  EndpointId hosts_;
  EndpointId together_;
};

struct Case {
  Network network;
  Workload workload;
};

/// Host 0 sends a message to each worker in every round, at times of its own. Workers have one
/// program: computation and calls of one member or of a few beside and after each other, a ring of
/// all workers now and then, messages to the next worker, launches by a host, and a stream that
/// computes a little from time to time. Some compute more slowly, and some groups of four pair up
/// in another order.
class Drawn {
 public:
  explicit Drawn(std::uint64_t seed) : draw_{std::mt19937_64{seed}} {
    together_ = draw_.one_in(2) ? 1 : static_cast<EndpointId>(2 + draw_.below(3));
    workers_ = together_ == 1 ? static_cast<EndpointId>(2 + draw_.below(5))
                              : together_ * static_cast<EndpointId>(2 + draw_.below(3));
    rings_by_place_ = together_ > 1 && draw_.one_in(2);
    const EndpointId hosts = workers_ + 1;
    const std::size_t planes = kMostTogether + 1;
    out_.network.links.assign(planes * 2 * hosts, Link{1_GBps, Duration{}, true});
    out_.network.endpoints.assign(hosts, Endpoint{});
    if (draw_.one_in(3))
      for (Endpoint& endpoint : out_.network.endpoints) endpoint.reduce_rate = 2_GBps;
    out_.network.router = std::make_shared<OwnPlanes>(hosts, together_);
    out_.workload.slots = Workload::kNoLimit;
    if (!draw_.one_in(3)) out_.workload.slowed_permille = 1000 + 13 * draw_.below(20);
    // Collectives of their own kernels slow computation down by more than others.
    for (std::int64_t& slowed : slowed_)
      if (draw_.one_in(4)) slowed += 100 * draw_.below(4);
    for (bool& copies : on_copy_engines_) copies = draw_.one_in(5);
    const std::int64_t rounds = 1 + draw_.below(8);
    for (std::int64_t i = 0; i < rounds; ++i) add_round();
    write();
  }
  Case take() { return std::move(out_); }
  /// Workers that call collectives of their own.
  [[nodiscard]] EndpointId together() const { return together_; }

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
      if (draw_.one_in(together_ == 1 ? 60 : 30)) call(rings);
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
    const bool usual = together_ == 4 && !draw_.one_in(4);  // the first way to pair up
    of.call = static_cast<std::uint32_t>(stream == rings ? rings_called_++
                                         : usual         ? 0
                                                         : draw_.below(3));
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
    std::vector<Patterns> patterns;  // usual ones, and those of slow workers
    for (const Duration later : {Duration{}, 1_us}) {
      Patterns& of = patterns.emplace_back();
      for (const std::vector<Activity>& stream : program_) of.push_back(pattern_of(stream, later));
    }
    const EndpointId slow =
        draw_.one_in(4) ? static_cast<EndpointId>(draw_.below(workers_)) : workers_;
    const EndpointId slow_place =
        draw_.one_in(4) ? static_cast<EndpointId>(draw_.below(together_)) : together_;
    const EndpointId plain = draw_.one_in(8) ? static_cast<EndpointId>(draw_.below(workers_))
                                             : workers_;  // without patterns
    for (std::uint32_t i = 0; i < rings_called_; ++i) add_ring();
    std::vector<std::vector<CallMemberSlot>> own_calls(workers_);
    for (EndpointId w = 0; w < workers_; w += together_) add_own_calls(w, own_calls);
    for (EndpointId w = 0; w < workers_; ++w) {
      const auto first = static_cast<std::uint32_t>(workload.streams.size());
      const bool is_slow = w == slow || w % together_ == slow_place;
      for (std::uint32_t s = 0; s < kStreams; ++s) {
        Stream stream{1 + w, "stream", {}, patterns[is_slow ? 1 : 0][s]};
        stream.first_stream = first;
        if (s == murmurs) stream.calls = own_calls[w];
        for (const Activity& of : program_[s]) {
          if (of.kind == Activity::Kind::collective) {
            if (s == rings) stream.calls.push_back(slot_in_ring(of.call, w));
          } else if (of.kind != Activity::Kind::compute) {
            stream.messages.push_back({peer(w, of.peer), 0});
          }
        }
        workload.streams.push_back(w == plain ? with_own_operations(stream) : std::move(stream));
      }
    }
  }

  /// Of all workers, or one for each place in a group, of unequal sizes. Neighbors in a ring, and
  /// those that send to each other, are in different groups.
  void add_ring() {
    const EndpointId count = rings_by_place_ ? together_ : 1;
    const EndpointId groups = workers_ / together_;
    const EndpointId size = workers_ / count;
    for (EndpointId ring = 0; ring < count; ++ring) {
      CollectiveCall& call = out_.workload.calls.emplace_back();
      call.name = "ring";
      call.schedule = std::make_shared<TinyRing>(static_cast<int>(size), true);
      call.block = Bytes{2000 + 3000 * std::int64_t{ring}};
      call.slowed_permille = slowed_[0];
      call.on_copy_engines = on_copy_engines_[0];
      for (EndpointId i = 0; i < size; ++i) {
        const EndpointId place = ring + i / groups;
        call.members.push_back(1 + i % groups * together_ + place);
      }
    }
  }
  [[nodiscard]] CallMemberSlot slot_in_ring(std::uint32_t number, EndpointId worker) const {
    const EndpointId place = worker % together_;
    const EndpointId group = worker / together_;
    if (rings_by_place_) return {number * together_ + place, group};
    return {number, place * (workers_ / together_) + group};
  }

  /// Of the group that begins with this worker.
  void add_own_calls(EndpointId first, std::vector<std::vector<CallMemberSlot>>& slots) {
    std::vector<CollectiveCall>& calls = out_.workload.calls;
    const auto first_call = static_cast<std::uint32_t>(calls.size());
    const auto add = [&](std::shared_ptr<const Schedule> schedule, std::uint32_t kind) {
      CollectiveCall& call = calls.emplace_back();
      call.name = "murmur";
      call.schedule = std::move(schedule);
      call.block = Bytes{700 * (together_ == 1 ? 1 : 1 + std::int64_t{kind % 2})};
      call.slowed_permille = slowed_[1 + kind];
      call.on_copy_engines = on_copy_engines_[1 + kind];
    };
    if (together_ == 1) {
      for (std::uint32_t kind = 0; kind < 3; ++kind) {
        add(std::make_shared<Murmur>(1 + kind), kind);
        calls.back().members = {1 + first};
      }
    }
    const bool crossed = draw_.one_in(3);
    for (const Activity& of : program_[murmurs]) {
      if (together_ == 1) {
        slots[first].push_back({first_call + of.call, 0});
        continue;
      }
      const EndpointId size = together_ == 4 ? 2 : together_;
      for (EndpointId set = 0; set < together_ / size; ++set) {
        add(std::make_shared<TinyRing>(static_cast<int>(size)), of.call);
        const auto call = static_cast<std::uint32_t>(calls.size() - 1);
        for (std::uint32_t member = 0; member < size; ++member) {
          // Of groups of two or three the first member is not always the first endpoint.
          const EndpointId w =
              first + (together_ == 4 ? pair(crossed ? (of.call + 2) % 3 : of.call, set, member)
                                      : (member + workers_ / together_) % size);
          calls.back().members.push_back(1 + w);
          slots[w].push_back({call, member});
        }
      }
    }
  }

  /// Four workers pair up in three ways.
  static EndpointId pair(std::uint32_t way, EndpointId set, std::uint32_t member) {
    constexpr std::array<std::array<EndpointId, 4>, 3> kPairs{
        {{0, 1, 2, 3}, {1, 2, 3, 0}, {0, 2, 1, 3}}};
    return kPairs[way][2 * set + member];
  }

  [[nodiscard]] EndpointId peer(EndpointId worker, EndpointId role) const {
    if (role == kDriver) return 0;
    return 1 + (worker + (role == kNext ? together_ : workers_ - together_)) % workers_;
  }

  using Patterns = std::vector<std::shared_ptr<const std::vector<Activity>>>;

  /// With calls and messages by their places in the stream's lists, and computation that takes so
  /// much longer.
  static std::shared_ptr<const std::vector<Activity>> pattern_of(
      const std::vector<Activity>& stream, Duration later) {
    auto out = std::make_shared<std::vector<Activity>>(stream);
    std::uint32_t call = 0;
    EndpointId message = 0;
    for (Activity& of : *out) {
      if (of.kind == Activity::Kind::collective) {
        of.call = call++;
      } else if (of.kind != Activity::Kind::compute) {
        of.peer = message++;
      } else {
        of.duration = of.duration + later;
      }
    }
    return out;
  }

  /// A stream for each place in a group, so that most groups have their messages together.
  void add_driver() {
    std::vector<Stream> drivers(together_, Stream{0, "driver", {}});
    const bool together = draw_.one_in(3);
    for (const Activity& of : program_[messages]) {
      if (of.kind != Activity::Kind::receive || of.peer != kDriver) continue;
      if (together_ == 4 && draw_.one_in(2))
        for (const std::size_t place : {2, 3})
          drivers[place].operations.emplace_back().duration = 7_us;
      for (EndpointId group = 0; group < workers_; group += together_) {
        const Duration later = 1_us * draw_.below(draw_.one_in(2) ? 20 : 150);
        for (EndpointId place = 0; place < together_; ++place) {
          std::vector<Activity>& operations = drivers[place].operations;
          if (!together) operations.emplace_back().duration = later;
          if (draw_.one_in(16)) operations.emplace_back().duration = 1_us * draw_.below(9);
          Activity& send = operations.emplace_back();
          send.kind = Activity::Kind::send;
          send.peer = 1 + group + place;
          send.size = of.size;
        }
      }
    }
    for (Stream& driver : drivers) out_.workload.streams.push_back(std::move(driver));
  }

  static constexpr EndpointId kDriver = 0;
  static constexpr EndpointId kNext = 1;
  static constexpr EndpointId kBefore = 2;
  Draw draw_;
  EndpointId workers_ = 0;
  EndpointId together_ = 1;
  bool rings_by_place_ = false;
  Case out_;
  std::vector<std::vector<Activity>> program_ = std::vector<std::vector<Activity>>(kStreams);
  std::uint32_t rings_called_ = 0;
  std::array<std::int64_t, 4> slowed_{1000, 1000, 1000, 1000};  // rings, murmurs of 1 .. 3 steps
  std::array<bool, 4> on_copy_engines_{};
  std::optional<ActivityRef> waited_for_;  // a computation, by the host
};

}  // namespace

TEST_CASE("endpoints that follow a record end at the same picosecond as replayed ones") {
  std::array<std::uint64_t, kMostTogether + 1> followed{};  // by workers in a group
  std::array<std::uint64_t, kMostTogether + 1> operations{};
  std::uint64_t stuck = 0;
  for (std::uint64_t seed = 0; seed < 4000; ++seed) {
    CAPTURE(seed);
    Drawn drawn{seed};
    const EndpointId together = drawn.together();
    Case of = drawn.take();
    if (seed % 3 == 0) {
      const ReplayResult even = replay(of.network, of.workload, NetworkModel::fluid);
      const auto endpoints = static_cast<EndpointId>(of.network.endpoints.size());
      add_slow_windows(of.workload, endpoints, even.end, seed);
    }
    const ReplayResult each = replay(of.network, of.workload, NetworkModel::fluid);
    Engine engine{of.network, of.workload, NetworkModel::fluid, true};
    engine.record_work();
    engine.advance_to_end({});
    followed[together] += engine.operations_followed();
    for (const Stream& stream : of.workload.streams) operations[together] += stream.all().size();
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
  // Of two groups or more, one at least is replayed; many steps are too short for records, and
  // workers of a group that start apart are so for some time.
  for (EndpointId together = 1; together <= kMostTogether; ++together) {
    CAPTURE(together);
    CHECK(24 * followed[together] > operations[together]);
    // Where all members of a group call together, its first stands for the others, mostly.
    if (together == 2 || together == 3) CHECK(8 * followed[together] > operations[together]);
  }
}

}  // namespace lockstep::test
