#include <doctest/doctest.h>

#include <atomic>

#include "sim/engine/replay.hpp"
#include "tests/sim/engine/bed.hpp"
#include "tests/sim/engine/schedules.hpp"
#include "tests/sim/engine/star.hpp"

// Mistakes that other simulators were seen to make, each shown to be impossible in the engine.

using namespace lockstep;
using namespace lockstep::test;

namespace {

/// Reduce-scatter then all-gather, everything at once in either step.
std::shared_ptr<Scripted> direct(int n) {
  return std::make_shared<Scripted>(
      n, 1, 2, [n](int rank, int, std::int64_t index, ScheduleStep& s) {
        for (int d = 1; d < n; ++d) {
          s.sends.push_back({(rank + d) % n, {Buffer::data, (rank + d) % n, 1}});
          s.receives.push_back({(rank + n - d) % n,
                                {Buffer::data, rank, 1},
                                index == 0 ? Combine::reduce : Combine::copy});
        }
      });
}

std::string all_texts(const ReplayResult& result) {
  std::string out;
  for (const Unfinished& unfinished : result.unfinished) out += unfinished.text + "\n";
  return out;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("no collective is faster than its sender's port") {
  // Direct all-reduce of 64 MiB on 8 hosts of 50 GB/s: each port sends 2 * 7 blocks of 8 MiB, so
  // 2 * (2 us + 7 * 8388608 B / 50e9 B/s) = 2.35281024 ms; without serialisation it would be 7
  // times less. Shares are floored to 2^-16 B/s: within 1 ps per round.
  for (const NetworkModel model :
       {NetworkModel::fluid, NetworkModel::alpha_beta, NetworkModel::queue}) {
    const auto end = replay(star(8, 50_GBps, 2_us), one_call(direct(8), 8_MiB), model).end;
    CHECK(std::abs(end.ps() - 2'352'810'240) <= 2);
  }
}

TEST_CASE("a transfer over two tiers is priced by both") {
  // 1 us + 5 us of latency, and the slower tier's rate: 6 kB at 2 GB/s is 3 us.
  Bed bed;
  const LinkId inside = bed.link(10_GBps, 1_us);
  const LinkId across = bed.link(2_GBps, 5_us);
  bed.flow(kilobytes(6), {inside, across});
  for (const NetworkModel model :
       {NetworkModel::fluid, NetworkModel::alpha_beta, NetworkModel::queue})
    CHECK(bed.ends(model) == std::vector<std::int64_t>{9 * kMicrosecond});
}

TEST_CASE("work that cannot end is an error that names rank, operation, peer and last match") {
  // A ring of 4 in which rank 2 forgets its send of step 3.
  const TinyRing ring(4, false);
  const auto broken = std::make_shared<Scripted>(
      4, 1, 6, [ring](int rank, int lane, std::int64_t index, ScheduleStep& s) {
        ring.step(rank, lane, index, s);
        if (rank == 2 && index == 3) s.sends.clear();
      });
  for (const NetworkModel model :
       {NetworkModel::fluid, NetworkModel::alpha_beta, NetworkModel::queue}) {
    const auto result = replay(star(4, 50_GBps, 2_us), one_call(broken, 1_KiB), model);
    REQUIRE_FALSE(result.unfinished.empty());
    const std::string text = all_texts(result);
    CAPTURE(text);
    // Rank 3's receive of step 3 is met by rank 2's send of step 4, and so on to the end, where
    // rank 3 waits for a send that never comes.
    CHECK(contains(text,
                   "rank 3, all_reduce tiny, step 5 of 6: waits to receive 1024 bytes from "
                   "rank 2; the last step that matched is 4"));
  }
}

TEST_CASE("a missing end of a repeated transfer is named as well") {
  class Short final : public TinyRing {
   public:
    Short() : TinyRing(3) {}
    [[nodiscard]] std::int64_t steps(int rank, int) const override { return rank == 1 ? 1 : 4; }
  };
  const auto result = replay(star(3, 50_GBps, 2_us), one_call(std::make_shared<Short>(), 1_KiB),
                             NetworkModel::fluid);
  const std::string text = all_texts(result);
  CAPTURE(text);
  CHECK(contains(text, "rank 0, all_reduce tiny, step 1 of 4: waits to send 1024 bytes to rank 1"));
  CHECK(contains(text,
                 "rank 2, all_reduce tiny, step 1 of 4: waits to receive 1024 bytes from rank 1"));
}

TEST_CASE("a send or receive of a stream without its other end is named") {
  Workload workload;
  Activity send;
  send.kind = Activity::Kind::send;
  send.peer = 1;
  send.size = Bytes{8};
  workload.streams.push_back({0, "comm", {send}});
  const auto result = replay(star(2, 1_GBps, 0_us), workload, NetworkModel::fluid);
  CHECK(contains(all_texts(result),
                 "rank 0, stream \"comm\", operation 0: waits to send 8 bytes to rank 1"));
}

TEST_CASE("messages of a connection are matched in the order in which they were posted") {
  // Sizes 1, 2, 3 kB in one step on one channel; the receiver expects them in that order. Were they
  // matched in any other, sizes would differ, which the engine refuses.
  const auto script =
      std::make_shared<Scripted>(2, 1, 1, [](int rank, int, std::int64_t, ScheduleStep& s) {
        for (std::int64_t i = 1; i <= 3; ++i) {
          if (rank == 0) s.sends.push_back({1, {Buffer::data, 0, i}});
          if (rank == 1) s.receives.push_back({0, {Buffer::data, 0, i}, Combine::copy});
        }
      });
  const auto result =
      replay(star(2, 1_GBps, 0_us), one_call(script, Bytes{1000}), NetworkModel::queue);
  CHECK(result.unfinished.empty());
  CHECK(result.end == TimePoint{6_us});
}

TEST_CASE("400 Gb/s is 0.02 ns a byte, and GB is 1e9") {
  CHECK(400_Gbps == 50_GBps);
  CHECK(Bytes{1} / 400_Gbps == 20_ps);
  CHECK(Bytes{1'000'000'000} / 1_GBps == Duration::picoseconds(1'000'000'000'000));
}

TEST_CASE("no hidden factors: a message takes alpha plus bytes over bandwidth, exactly") {
  Bed bed;
  const std::vector<LinkId> path = {bed.link(50_GBps, 1_us), bed.link(50_GBps, 1_us)};
  bed.flow(1_MiB, path);
  // 2 us + 1048576 / 50e9 s = 22.97152 us.
  CHECK(bed.ends() == std::vector<std::int64_t>{22'971'520});
}

TEST_CASE("set-up asks for no more routes than there are communicating pairs") {
  class Counting final : public Router {
   public:
    explicit Counting(std::shared_ptr<const Router> inner) : inner_{std::move(inner)} {}
    bool route(EndpointId from, EndpointId to, Route& route) const override {
      ++asked;
      return inner_->route(from, to, route);
    }
    mutable std::atomic<int> asked{0};

   private:
    std::shared_ptr<const Router> inner_;
  };
  Network network = star(64, 50_GBps, 2_us);
  const auto counting = std::make_shared<Counting>(network.router);
  network.router = counting;
  const auto result =
      replay(network, one_call(std::make_shared<TinyRing>(64), 1_KiB), NetworkModel::fluid);
  CHECK(result.transfers == 64 * 126);
  // One for each of the 64 pairs, a few again where two pairs share a place in the cache.
  CHECK(counting->asked < 3 * 64);
}

TEST_CASE("receiving does not block an independent send") {
  // Rank 0 waits for rank 1, which sends only at 10 us; its own send to rank 2 goes at once.
  Workload workload;
  Activity late;
  late.duration = 10_us;
  Activity send;
  send.kind = Activity::Kind::send;
  send.size = Bytes{1000};
  Activity receive;
  receive.kind = Activity::Kind::receive;
  receive.size = Bytes{1000};
  const auto peer = [](Activity operation, EndpointId other) {
    operation.peer = other;
    return operation;
  };
  workload.streams.push_back({0, "in", {peer(receive, 1)}});
  workload.streams.push_back({0, "out", {peer(send, 2)}});
  workload.streams.push_back({1, "out", {late, peer(send, 0)}});
  workload.streams.push_back({2, "in", {peer(receive, 0)}});
  const auto result = replay(star(3, 1_GBps, 0_us), workload, NetworkModel::fluid);
  CHECK(result.stream_ends[3][0] == TimePoint{1_us});
  CHECK(result.stream_ends[0][0] == TimePoint{11_us});
}

TEST_CASE("every number of ranks is simulated, none looked up in a table") {
  // Ring: 2(n-1) rounds of 2 us + 1000 B / 50 GB/s.
  for (const int n : {2, 3, 5, 6, 7, 11, 100, 130, 257})
    CHECK(replay(star(static_cast<std::size_t>(n), 50_GBps, 2_us),
                 one_call(std::make_shared<TinyRing>(n), Bytes{1000}), NetworkModel::fluid)
              .end == TimePoint{2_us * (2 * (n - 1)) + 20_ns * (2 * (n - 1))});
}
