#include <doctest/doctest.h>

#include <memory>
#include <numeric>

#include "tests/sim/symmetry/check_equal.hpp"

/// Parts of a cluster that hang on one rank. Expectations: an unfolded replay of the same.
using namespace lockstep;
using test::check_folded;

namespace {

constexpr int kPerGroup = 4;

/// Groups of four: the first rank of each is its attachment and talks to other attachments over a
/// port of its own; the others form a chain behind it, over other ports. Links per rank: out and in
/// within the group, out and in between attachments.
class Groups final : public Router {
 public:
  explicit Groups(Duration inner) : inner_{inner} {}
  [[nodiscard]] bool route(EndpointId from, EndpointId to, Route& route) const override {
    route.clear();
    if (from == to) return true;
    const LinkId outer = from / kPerGroup != to / kPerGroup ? 2 : 0;
    route.hops = {{4 * from + outer}, {4 * to + outer + 1}};
    route.latency = outer > 0 ? 3_us : inner_;
    return true;
  }

 private:
  Duration inner_;
};

Network groups(int count, Endpoint endpoint = {}, Duration inner = 1_us) {
  Network network;
  const auto ranks = static_cast<std::size_t>(count * kPerGroup);
  for (std::size_t r = 0; r < ranks; ++r) {
    network.links.resize(network.links.size() + 2, {4_GBps, {}, true});
    network.links.resize(network.links.size() + 2, {1_GBps, {}, true});
  }
  network.endpoints.resize(ranks, endpoint);
  network.router = std::make_shared<Groups>(inner);
  return network;
}

/// Attachments pass blocks round a ring; what arrives goes down the chain and, reduced there, up
/// again.
class RingOfChains final : public Schedule {
 public:
  RingOfChains(int groups, std::int64_t rounds) : groups_{groups}, rounds_{rounds} {}
  [[nodiscard]] int ranks() const override { return groups_ * kPerGroup; }
  [[nodiscard]] int lanes() const override { return 3; }
  [[nodiscard]] std::int64_t blocks() const override { return 1; }
  [[nodiscard]] std::int64_t steps(int rank, int lane) const override {
    return lane == kRing && rank % kPerGroup > 0 ? 0 : rounds_;
  }
  void step(int rank, int lane, std::int64_t index, ScheduleStep& step) const override {
    const bool attachment = rank % kPerGroup == 0;
    const bool last = rank % kPerGroup == kPerGroup - 1;
    const int group = rank / kPerGroup;
    if (lane == kRing) {
      send((group + 1) % groups_ * kPerGroup, lane, step);
      receive((group + groups_ - 1) % groups_ * kPerGroup, lane, Combine::copy, step);
      return;
    }
    if (lane == kDown) {
      if (!attachment) receive(rank - 1, lane, Combine::copy, step);
      if (!last) send(rank + 1, lane, step);
      if (attachment) step.after.push_back({kRing, index});
      return;
    }
    if (!last) receive(rank + 1, lane, Combine::reduce, step);
    if (!attachment) send(rank - 1, lane, step);
    if (!attachment && last) step.after.push_back({kDown, index});
  }

 private:
  static constexpr int kRing = 0;  // lanes, and the channels of their messages
  static constexpr int kDown = 1;
  static void send(int peer, int channel, ScheduleStep& step) {
    step.sends.push_back({peer, {Buffer::data, 0, 1}, channel});
  }
  static void receive(int peer, int channel, Combine combine, ScheduleStep& step) {
    step.receives.push_back({peer, {Buffer::data, 0, 1}, combine, channel});
  }

  int groups_;
  std::int64_t rounds_;
};

Workload workload(int count, std::int64_t rounds, Bytes block) {
  CollectiveCall call{"chains", std::make_shared<RingOfChains>(count, rounds), {}, block, {}};
  call.members.resize(static_cast<std::size_t>(count * kPerGroup));
  std::iota(call.members.begin(), call.members.end(), EndpointId{0});
  call.starts.resize(call.members.size());
  return {{call}, {}};
}

}  // namespace

TEST_CASE("what hangs on one rank and meets the same is replayed once") {
  for (const NetworkModel model : {NetworkModel::fluid, NetworkModel::alpha_beta}) {
    const Network network = groups(12, {Duration{}, 5_GBps, std::nullopt});
    Workload work = workload(12, 6, 100'000_B);
    work.calls[0].starts[8] = TimePoint{40_us};  // a attachment
    const FoldedReplay folded = check_folded(network, work, model);
    CHECK(folded.report.classes.size() == 48);
    CHECK(folded.report.branches == 12);
    // Six rounds take word of the late attachment to the six groups behind it and, as transfers
    // wait for both ends, to the six before it.
    CHECK(folded.report.branch_histories > 1);
    CHECK(folded.report.branch_histories <= 12);
    CHECK(folded.report.simulated_transfers < folded.report.transfers);
  }
}

TEST_CASE("branches part at the first instant at which their attachments do differently") {
  const Network network = groups(40);
  Workload work = workload(40, 3, 20'000_B);
  work.calls[0].starts[0] = TimePoint{100_us};
  const FoldedReplay folded = check_folded(network, work, NetworkModel::fluid);
  CHECK(folded.report.branches == 40);
  // In three rounds only three groups on either side can have heard of the late attachment.
  CHECK(folded.report.branch_histories >= 2);
  CHECK(folded.report.branch_histories <= 8);
}

TEST_CASE("a part that is not like the others is replayed apart") {
  Network network = groups(10, {Duration{}, 5_GBps, std::nullopt});
  network.links[4 * 6 + 1].bandwidth = 1_GBps;  // into a rank inside the second group
  Workload work = workload(10, 4, 50'000_B);
  const FoldedReplay folded = check_folded(network, work, NetworkModel::fluid);
  CHECK(folded.report.branches == 9);
  // Two that have a late rank at the same place are a kind of their own; one alone is none.
  work.calls[0].starts[14] = TimePoint{9_us};
  work.calls[0].starts[30] = TimePoint{9_us};
  CHECK(check_folded(network, work, NetworkModel::fluid).report.branches == 9);
  work.calls[0].starts[30] = TimePoint{8_us};
  CHECK(check_folded(network, work, NetworkModel::fluid).report.branches == 7);
}

TEST_CASE("an attachment's overhead per message and routes without latency leave no branches") {
  Workload work = workload(8, 4, 50'000_B);
  work.calls[0].starts[0] = TimePoint{7_us};
  const Endpoint slow{200_ns, std::nullopt, std::nullopt};
  CHECK(check_folded(groups(8, slow), work, NetworkModel::fluid).report.branches == 0);
  const Network at_once = groups(8, {}, Duration{});
  CHECK(check_folded(at_once, work, NetworkModel::fluid).report.branches == 0);
}
