#include "strategies/collectives/lower_bound.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <numeric>

#include "sim/engine/replay.hpp"
#include "strategies/collectives/sizing.hpp"
#include "tests/sim/engine/star.hpp"
#include "tests/strategies/collectives/every_row.hpp"

using namespace lockstep;
using test::star;

namespace {

std::vector<EndpointId> range(std::size_t first, std::size_t count) {
  std::vector<EndpointId> ids(count);
  std::iota(ids.begin(), ids.end(), static_cast<EndpointId>(first));
  return ids;
}

AllReduceBound star_bound(const Network& network, std::size_t members,
                          std::vector<Partition> partitions = {}) {
  const auto helpers = range(members, network.endpoints.size() - members);
  return {network, range(0, members), helpers, std::move(partitions)};
}

Duration replayed(const RowCase& row, const Network& network, Bytes block, NetworkModel model) {
  const SchedulePtr schedule = row.make();
  CollectiveCall call{row.name(), schedule, {}, block, {}};
  call.members = range(0, static_cast<std::size_t>(schedule->ranks()));
  return replay(network, {{call}, {}}, model).end.since_start();
}

/// Pairs of hosts behind one narrow link each way: host h has links 2h (out) and 2h+1 (in), pair p
/// has 2H+2p and 2H+2p+1.
class PairsRouter final : public Router {
 public:
  explicit PairsRouter(EndpointId hosts) : hosts_{hosts} {}
  [[nodiscard]] bool route(EndpointId from, EndpointId to, Route& route) const override {
    route.clear();
    if (from == to) return true;
    route.hops = {{2 * from, kWeightUnit}};
    route.latency = 1_us;
    if (from / 2 != to / 2) {
      route.hops.push_back({2 * hosts_ + 2 * (from / 2), kWeightUnit});
      route.hops.push_back({2 * hosts_ + 2 * (to / 2) + 1, kWeightUnit});
      route.latency = 5_us;
    }
    route.hops.push_back({2 * to + 1, kWeightUnit});
    return true;
  }

 private:
  EndpointId hosts_;
};

}  // namespace

TEST_CASE("no algorithm beats the bound on a star") {
  const AlphaBeta model{2_us, 50_GBps, 100_GBps};
  for (const RowCase& row : every_row(kRankCounts)) {
    if (row.row->collective != Collective::all_reduce || !row.cost()) continue;
    const SchedulePtr schedule = row.make();
    const Network network = star(static_cast<std::size_t>(schedule->ranks()), model.beta,
                                 model.alpha, {Duration{}, model.gamma});
    const AllReduceBound bound = star_bound(network, static_cast<std::size_t>(row.n()));
    for (const Bytes size : {0_B, 1_B, 8_B, 1000_B, 1_MiB, 1_GiB}) {
      const MessageLayout layout = lay_out(size, *find_element_type("uint8"), schedule->blocks());
      const Duration ideal = ideal_time(*row.cost(), layout.block, model);
      CAPTURE(row.name());
      CAPTURE(size.count());
      CHECK(bound.at(layout.size).time() <= ideal);
    }
  }
}

TEST_CASE("equal ports are bound by 2(n-1)/n of the message") {
  const Network network = star(8, 50_GBps, 2_us);
  const AllReduceBound bound = star_bound(network, 8);
  // 2 * 7/8 * 8 MiB / 50 GB/s = 293.6 us: what ring, direct and halving-doubling send.
  CHECK(bound.at(8_MiB).bandwidth == 14_MiB / 50_GBps);
  CHECK(bound.at(8_MiB).tightest_cut == "ports");
  CHECK(bound.at(8_B).time() == 2_us);
  CHECK(bound.at(0_B).time() == 2_us);
  // With every reduction at 10 GB/s: 7 additions of 8 MiB by 8 devices.
  const Network slow = star(8, 50_GBps, 2_us, {Duration{}, 10_GBps});
  CHECK(star_bound(slow, 8).at(8_MiB).reduction == 7_MiB / 10_GBps);
}

TEST_CASE("a slow port is crossed once each way, not 2(n-1)/n times") {
  // Rank 0 may be a leaf: it sends M once and receives M once, at 10 GB/s.
  Network network = star(8, 50_GBps, 2_us);
  network.links[0].bandwidth = network.links[1].bandwidth = 10_GBps;
  CHECK(star_bound(network, 8).at(8_MiB).bandwidth == 8_MiB / 10_GBps);
}

TEST_CASE("servers that add up outside weaken the bound to what they can carry") {
  // 8 workers and 8 servers: 14 M over 16 ports is less than each worker's own M.
  CHECK(star_bound(star(16, 50_GBps, 2_us), 8).at(8_MiB).bandwidth == 8_MiB / 50_GBps);
}

TEST_CASE("groups given by the caller bound what crosses between them") {
  // 4 nodes of 2 ranks that share 50 GB/s: 2 * 3/4 * M / 50 GB/s beats 2 * 7/8 * M / (2 * 50 GB/s).
  Partition nodes{"nodes"};
  nodes.add(50_GBps, 50_GBps, 4);
  const Network network = star(8, 100_GBps, 2_us);
  const LowerBound bound = star_bound(network, 8, {nodes}).at(8_MiB);
  CHECK(bound.bandwidth == 12_MiB / 50_GBps);
  CHECK(bound.tightest_cut == "nodes");
  Partition one{"one"};
  one.add(1_GBps, 1_GBps);
  CHECK(one.least_time(8_MiB) == Duration{});  // nothing has to leave a group that holds all
}

TEST_CASE("one rank alone is bound by nothing") {
  CHECK(star_bound(star(1, 50_GBps, 2_us), 1).at(1_GiB).time() == Duration{});
}

TEST_CASE("many end points are bound through what the caller knows") {
  const Network network = star(1000, 50_GBps, 2_us);
  Partition ports{"ports"};
  ports.add(50_GBps, 50_GBps, 1000);
  const LowerBound bound = star_bound(network, 1000, {ports}).at(1000_KiB);
  CHECK(bound.latency == 2_us);
  CHECK(bound.bandwidth == 1998_KiB / 50_GBps);  // 2 * 999/1000 * 1000 KiB
}

TEST_CASE("no replay beats the bound where every port differs") {
  // Port of host h: 10, 17, 24, ... GB/s out, in the other order in; deliberately lopsided.
  for (const RowCase& row : every_row({2, 3, 5, 8, 16})) {
    if (row.row->collective != Collective::all_reduce || !row.cost()) continue;
    const int ranks = row.make()->ranks();
    Network network = star(static_cast<std::size_t>(ranks), 50_GBps, 2_us);
    for (std::size_t host = 0; host < network.endpoints.size(); ++host) {
      const std::uint64_t step = 7'000'000'000;
      network.links[2 * host].bandwidth = Rate::bytes_per_second(10'000'000'000 + host * step);
      network.links[2 * host + 1].bandwidth =
          Rate::bytes_per_second(10'000'000'000 + (network.endpoints.size() - 1 - host) * step);
    }
    const LowerBound bound = star_bound(network, static_cast<std::size_t>(row.n())).at(1_MiB);
    const Bytes block = lay_out(1_MiB, *find_element_type("uint8"), row.make()->blocks()).block;
    for (const NetworkModel model :
         {NetworkModel::fluid, NetworkModel::alpha_beta, NetworkModel::queue}) {
      CAPTURE(row.name());
      CHECK(bound.time() <= replayed(row, network, block, model));
    }
  }
}

TEST_CASE("no replay beats the bound of narrow links between nodes") {
  for (const RowCase& row : every_row({4, 8, 16})) {
    if (row.row->collective != Collective::all_reduce || !row.cost()) continue;
    const auto hosts = static_cast<EndpointId>((row.make()->ranks() + 1) / 2 * 2);
    Network network;
    network.links.assign(2 * hosts, Link{100_GBps, 500_ns, true});
    network.links.insert(network.links.end(), hosts, Link{20_GBps, 2_us, false});
    network.endpoints.resize(hosts);
    network.router = std::make_shared<PairsRouter>(hosts);
    Partition pairs{"pairs"};
    pairs.add(20_GBps, 20_GBps, row.n() / 2);
    const std::int64_t helper_pairs = (static_cast<std::int64_t>(hosts) - row.n()) / 2;
    if (helper_pairs > 0) pairs.add_helpers(20_GBps, 20_GBps, helper_pairs);
    const LowerBound bound =
        star_bound(network, static_cast<std::size_t>(row.n()), {pairs}).at(1_MiB);
    CAPTURE(row.name());
    CHECK(bound.tightest_cut == "pairs");
    CHECK(bound.latency == 5_us);
    const Bytes block = lay_out(1_MiB, *find_element_type("uint8"), row.make()->blocks()).block;
    for (const NetworkModel model : {NetworkModel::fluid, NetworkModel::queue})
      CHECK(bound.time() <= replayed(row, network, block, model));
  }
}
