#include "strategies/collectives/bounds/collective_bound.hpp"
#include "sim/base/check.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <numeric>
#include <random>

#include "sim/engine/replay.hpp"
#include "strategies/collectives/sizing.hpp"
#include "tests/sim/engine/star.hpp"
#include "tests/strategies/collectives/rows_under_test.hpp"

using namespace lockstep;
using test::star;

namespace {

std::vector<EndpointId> range(std::size_t first, std::size_t count) {
  std::vector<EndpointId> ids(count);
  std::iota(ids.begin(), ids.end(), static_cast<EndpointId>(first));
  return ids;
}

/// The first `members` end points hold data, all others help.
CollectiveBound bound_of(Collective collective, const Network& network, std::size_t members,
                         std::vector<Partition> partitions = {}, int root = 0, int distance = 1) {
  const auto all = range(0, network.endpoints.size());
  return CollectiveBound({.collective = collective,
                          .network = network,
                          .members = std::span{all}.first(members),
                          .auxiliary_ranks = std::span{all}.subspan(members),
                          .partitions = std::move(partitions),
                          .root = root,
                          .distance = distance});
}

CollectiveBound bound_of(const RowCase& row, const Network& network,
                         std::vector<Partition> partitions = {}) {
  const Contract contract = row.contract(*row.make());
  return bound_of(contract.collective, network, static_cast<std::size_t>(row.n()),
                  std::move(partitions), contract.root, contract.distance);
}

Duration replayed(const RowCase& row, const Network& network, Bytes block, NetworkModel model) {
  const SchedulePtr schedule = row.make();
  CollectiveCall call{row.name(), schedule, {}, block, {}};
  call.members = range(0, static_cast<std::size_t>(schedule->ranks()));
  return replay(network, {{call}, {}}, model).end.since_start();
}

/// Checks a 1 MiB message of every row against its bound, replayed on `network_for(ranks)`.
void compare(const std::vector<int>& ranks, const std::vector<NetworkModel>& models,
             const auto& network_for, const auto& partitions_for) {
  for (const RowCase& row : every_row(ranks)) {
    const SchedulePtr schedule = row.make();
    const Network network = network_for(schedule->ranks());
    const LowerBound bound = bound_of(row, network, partitions_for(row, network)).at(1_MiB);
    const Bytes block =
        divide_message(1_MiB, *find_element_type("uint8"), schedule->blocks()).block;
    CAPTURE(row.name());
    for (const NetworkModel model : models)
      CHECK(bound.time() <= replayed(row, network, block, model));
  }
}

const std::vector<NetworkModel> kAllModels{NetworkModel::fluid, NetworkModel::alpha_beta,
                                           NetworkModel::queue};

std::vector<Partition> none(const RowCase&, const Network&) {
  return {};
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

Network pairs_network(int ranks) {
  const auto hosts = static_cast<EndpointId>((ranks + 1) / 2 * 2);
  Network network;
  network.links.assign(2 * hosts, Link{100_GBps, 500_ns, true});
  network.links.insert(network.links.end(), hosts, Link{20_GBps, 2_us, false});
  network.endpoints.resize(hosts);
  network.router = std::make_shared<PairsRouter>(hosts);
  return network;
}

/// n is even; auxiliary ranks follow in pairs of their own.
std::vector<Partition> pairs_partition(const RowCase& row, const Network& network) {
  Partition pairs{"pairs"};
  pairs.add(20_GBps, 20_GBps, row.n() / 2, 2);
  pairs.add_auxiliaries(20_GBps, 20_GBps,
                        (static_cast<std::int64_t>(network.endpoints.size()) - row.n()) / 2);
  return {pairs};
}

/// Ports of random rates, 10 to 100 GB/s each way.
Network random_star(int hosts, std::mt19937_64& random) {
  Network network = star(static_cast<std::size_t>(hosts), 50_GBps, 2_us);
  for (Link& link : network.links)
    link.bandwidth = Rate::bytes_per_second(10'000'000'000 + random() % 90'000'000'000);
  return network;
}

/// All hosts of a star in random runs of neighbours.
Partition random_runs(int members, const Network& network, std::mt19937_64& random) {
  Partition runs{"runs"};
  const auto rate = [&](int first, int count, std::size_t direction) {
    std::uint64_t steps = 0;
    for (int host = first; host < first + count; ++host)
      steps += network.links[2 * static_cast<std::size_t>(host) + direction].bandwidth.steps();
    return Rate::from_steps(steps);
  };
  for (int first = 0; first < members;) {
    const int count = std::min(members - first, 1 + static_cast<int>(random() % 5));
    runs.add(rate(first, count, 0), rate(first, count, 1), 1, count);
    first += count;
  }
  const int auxiliary_ranks = static_cast<int>(network.endpoints.size()) - members;
  if (auxiliary_ranks > 0)
    runs.add_auxiliaries(rate(members, auxiliary_ranks, 0), rate(members, auxiliary_ranks, 1));
  return runs;
}

LowerBound all_reduce_at(const Network& network, std::size_t members, Bytes message,
                         std::vector<Partition> partitions = {}) {
  return bound_of(Collective::all_reduce, network, members, std::move(partitions)).at(message);
}

}  // namespace

TEST_CASE("no algorithm beats the bound on a star") {
  const AlphaBeta model{2_us, 50_GBps, 100_GBps};
  for (const RowCase& row : every_row(kRankCounts)) {
    if (!row.cost()) continue;
    const SchedulePtr schedule = row.make();
    const Network network = star(static_cast<std::size_t>(schedule->ranks()), model.beta,
                                 model.alpha, {Duration{}, model.gamma});
    const CollectiveBound bound = bound_of(row, network);
    for (const Bytes size : {0_B, 1_B, 8_B, 1000_B, 1_MiB, 1_GiB}) {
      const MessageLayout layout =
          divide_message(size, *find_element_type("uint8"), schedule->blocks());
      const Duration ideal = ideal_time(*row.cost(), layout.block, model);
      CAPTURE(row.name());
      CAPTURE(size.count());
      CHECK(bound.at(layout.size).time() <= ideal);
    }
  }
}

TEST_CASE("no replay beats the bound where every port differs") {
  // Port of host h: 10, 17, 24, ... GB/s out, in the other order in; deliberately lopsided.
  const auto lopsided = [](int ranks) {
    Network network = star(static_cast<std::size_t>(ranks), 50_GBps, 2_us);
    const std::size_t hosts = network.endpoints.size();
    const auto rate = [](std::size_t place) {
      return Rate::bytes_per_second(10'000'000'000 + place * 7'000'000'000);
    };
    for (std::size_t host = 0; host < hosts; ++host) {
      network.links[2 * host].bandwidth = rate(host);
      network.links[2 * host + 1].bandwidth = rate(hosts - 1 - host);
    }
    return network;
  };
  compare({2, 3, 5, 8, 16}, kAllModels, lopsided, none);
}

TEST_CASE("no replay beats the bound of narrow links between nodes") {
  compare({4, 8, 16}, {NetworkModel::fluid, NetworkModel::queue}, pairs_network, pairs_partition);
}

TEST_CASE("no replay beats the bound of any partition of a star of random ports") {
  std::mt19937_64 random{7};
  for (int round = 0; round < 3; ++round) {
    compare(
        {5, 6, 9}, {NetworkModel::fluid}, [&](int ranks) { return random_star(ranks, random); },
        [&](const RowCase& row, const Network& network) {
          return std::vector{random_runs(row.n(), network, random)};
        });
  }
}

TEST_CASE("equal ports: what each collective's best algorithm sends is the bound") {
  const Network network = star(8, 50_GBps, 2_us);
  const auto at = [&](Collective collective) {
    return bound_of(collective, network, 8, {}, 5).at(8_MiB);
  };
  // 7/8 of 8 MiB through a port.
  for (const Collective collective :
       {Collective::all_gather, Collective::reduce_scatter, Collective::all_to_all,
        Collective::scatter, Collective::gather}) {
    CAPTURE(to_string(collective));
    CHECK(at(collective).bandwidth == 7_MiB / 50_GBps);
    CHECK(at(collective).tightest_cut == "ports");
    CHECK(at(collective).latency == 2_us);
    // Which is what the direct algorithm takes, but for its latency.
    const auto cost = cost_of(test::row_of(collective, "direct"), {.n = 8, .root = 5});
    CHECK(ideal_time(*cost, 1_MiB, {Duration{}, 50_GBps, {}}) == at(collective).bandwidth);
  }
  for (const Collective collective :
       {Collective::broadcast, Collective::reduce, Collective::send_recv})
    CHECK(at(collective).bandwidth == 8_MiB / 50_GBps);
  CHECK(at(Collective::all_reduce).bandwidth == 14_MiB / 50_GBps);
  CHECK(at(Collective::barrier).time() == 2_us);
  // A chain of ever more chunks comes as near as one likes: 6 of 65536 rounds more.
  const auto chain = cost_of(test::row_of(Collective::broadcast, "chain"),
                             {.n = 8, .arguments = {{"chunks", 65536}}, .root = 5});
  const Duration ideal = ideal_time(*chain, 128_B, {Duration{}, 50_GBps, {}});
  CHECK(ideal > at(Collective::broadcast).bandwidth);
  CHECK(ideal.seconds() < 1.0001 * at(Collective::broadcast).bandwidth.seconds());
}

TEST_CASE("equal ports are bound by 2(n-1)/n of the message in an all-reduce") {
  const Network network = star(8, 50_GBps, 2_us);
  // 2 * 7/8 * 8 MiB / 50 GB/s = 293.6 us: what ring, direct and halving-doubling send.
  CHECK(all_reduce_at(network, 8, 8_MiB).bandwidth == 14_MiB / 50_GBps);
  CHECK(all_reduce_at(network, 8, 8_MiB).tightest_cut == "ports");
  CHECK(all_reduce_at(network, 8, 8_B).time() == 2_us);
  CHECK(all_reduce_at(network, 8, 0_B).time() == 2_us);
}

TEST_CASE("reductions are bound by all devices' rates together") {
  // With every reduction at 10 GB/s: 7 additions of 8 MiB by 8 devices.
  const Network slow = star(8, 50_GBps, 2_us, {Duration{}, 10_GBps});
  for (const Collective collective :
       {Collective::all_reduce, Collective::reduce, Collective::reduce_scatter})
    CHECK(bound_of(collective, slow, 8).at(8_MiB).reduction == 7_MiB / 10_GBps);
  CHECK(bound_of(Collective::all_gather, slow, 8).at(8_MiB).reduction == Duration{});
}

TEST_CASE("a slow port is crossed once each way, not 2(n-1)/n times") {
  // Rank 0 may be a leaf: it sends M once and receives M once, at 10 GB/s.
  Network network = star(8, 50_GBps, 2_us);
  network.links[0].bandwidth = network.links[1].bandwidth = 10_GBps;
  CHECK(all_reduce_at(network, 8, 8_MiB).bandwidth == 8_MiB / 10_GBps);
}

TEST_CASE("a slow port matters to a broadcast only where it has to carry something") {
  Network network = star(8, 50_GBps, 2_us);
  network.links[2 * 3].bandwidth = 10_GBps;  // out of rank 3
  const auto from = [&](int root) {
    return bound_of(Collective::broadcast, network, 8, {}, root).at(8_MiB).bandwidth;
  };
  CHECK(from(3) == 8_MiB / 10_GBps);
  CHECK(from(0) == 8_MiB / 50_GBps);  // rank 3 may be a leaf
}

TEST_CASE("servers that add up outside weaken the bound to what they can carry") {
  // 8 workers and 8 servers: 14 M over 16 ports is less than each worker's own M.
  CHECK(all_reduce_at(star(16, 50_GBps, 2_us), 8, 8_MiB).bandwidth == 8_MiB / 50_GBps);
}

TEST_CASE("groups given by the caller bound what crosses between them") {
  // 4 nodes of 2 ranks that share 50 GB/s: 2 * 3/4 * M / 50 GB/s beats 2 * 7/8 * M / (2 * 50 GB/s).
  Partition nodes{"nodes"};
  nodes.add(50_GBps, 50_GBps, 4, 2);
  const Network network = star(8, 100_GBps, 2_us);
  const LowerBound bound = all_reduce_at(network, 8, 8_MiB, {nodes});
  CHECK(bound.bandwidth == 12_MiB / 50_GBps);
  CHECK(bound.tightest_cut == "nodes");
  // 2 * 6/8 of what each rank sends leaves its node.
  CHECK(bound_of(Collective::all_to_all, network, 8, {nodes}).at(8_MiB).bandwidth ==
        12_MiB / 50_GBps);
  // All-gather: 6/8 of everything enters a node.
  CHECK(bound_of(Collective::all_gather, network, 8, {nodes}).at(8_MiB).bandwidth ==
        6_MiB / 50_GBps);
}

TEST_CASE("a partition that does not deal all members is a mistake") {
  Partition half{"half"};
  half.add(50_GBps, 50_GBps, 2);
  const Network network = star(8, 50_GBps, 2_us);
  CHECK_THROWS_AS((void)bound_of(Collective::all_gather, network, 8, {half}), InternalError);
}

TEST_CASE("switches that reduce or multicast leave what every rank itself must send and receive") {
  const Network network = star(8, 50_GBps, 2_us);
  // All-reduce: M out and M in at least, instead of 2 * 7/8 M.
  const auto members = range(0, 8);
  const auto with_switches = [&](Collective collective, Bytes size) {
    return CollectiveBound({.collective = collective,
                            .network = network,
                            .members = members,
                            .switches_reduce = true})
        .at(size)
        .time();
  };
  CHECK(with_switches(Collective::all_reduce, 8_MiB) == 8_MiB / 50_GBps);
  // Everyone's 7/8 has to come in whoever copies it.
  for (const Collective collective : {Collective::all_gather, Collective::all_to_all})
    CHECK(with_switches(collective, 8_MiB) == bound_of(collective, network, 8).at(8_MiB).time());
  CHECK(with_switches(Collective::all_reduce, 8_B) == 2_us);  // latency
}

TEST_CASE("where only ports limit, only cuts through ports bound") {
  // Ports of 50 GB/s and, were they none, of any rate.
  Network network = star(8, 50_GBps, 2_us);
  const auto members = range(0, 8);
  const auto bound = [&](NetworkModel model) {
    return CollectiveBound({.collective = Collective::all_to_all,
                            .network = network,
                            .members = members,
                            .model = model})
        .at(8_MiB)
        .bandwidth;
  };
  CHECK(bound(NetworkModel::alpha_beta) == 7_MiB / 50_GBps);
  for (Link& link : network.links) link.port = false;
  CHECK(bound(NetworkModel::fluid) == 7_MiB / 50_GBps);
  CHECK(bound(NetworkModel::alpha_beta) == Duration{});
}

TEST_CASE("a run may be shorter than its bound by the picoseconds that it was rounded by") {
  const LowerBound bound{2_us, Duration::picoseconds(92'000), {}, "ports"};
  const auto bandwidth = [&](std::int64_t simulated, std::uint64_t messages) {
    LowerBound no_latency = bound;
    no_latency.latency = {};
    return bound_on_run(no_latency, Duration::picoseconds(simulated), messages).time().ps();
  };
  CHECK(bandwidth(91'994, 224) == 91'994);   // 14 rounds of 16 messages: 6 ps are theirs
  CHECK(bandwidth(91'994, 3) == 92'000);     // too few messages for 6 ps
  CHECK(bandwidth(100'000, 224) == 92'000);  // a bound stays what it is below the time
}

TEST_CASE("latency is that of those who must hear of each other") {
  const Network network = pairs_network(4);
  const auto latency = [&](Collective collective, int root, int distance) {
    return bound_of(collective, network, 4, {}, root, distance).at(0_B).time();
  };
  CHECK(latency(Collective::all_reduce, 0, 1) == 5_us);
  CHECK(latency(Collective::broadcast, 0, 1) == 5_us);
  CHECK(latency(Collective::send_recv, 0, 1) == 5_us);  // 1 to 2
  CHECK(latency(Collective::send_recv, 0, 4) == Duration{});
  // Two ranks of one node among many.
  const auto two = range(0, 2);
  const CollectiveBound pair(
      {.collective = Collective::barrier, .network = network, .members = two});
  CHECK(pair.at(0_B).time() == 1_us);
}

TEST_CASE("one rank alone is bound by nothing") {
  for (std::size_t kind = 0; kind < kCollectiveNames.size(); ++kind)
    CHECK(bound_of(static_cast<Collective>(kind), star(1, 50_GBps, 2_us), 1).at(1_GiB).time() ==
          Duration{});
}

TEST_CASE("many end points are bound through what the caller knows") {
  const Network network = star(1000, 50_GBps, 2_us);
  Partition ports{"ports"};
  ports.add(50_GBps, 50_GBps, 1000);
  const LowerBound bound = all_reduce_at(network, 1000, 1000_KiB, {ports});
  CHECK(bound.latency == 2_us);
  CHECK(bound.bandwidth == 1998_KiB / 50_GBps);  // 2 * 999/1000 * 1000 KiB
  const LowerBound shift =
      bound_of(Collective::send_recv, network, 1000, {ports}, 0, 300).at(1000_KiB);
  CHECK(shift.latency == 2_us);
  CHECK(shift.bandwidth == 1000_KiB / 50_GBps);
  CHECK(bound_of(Collective::scatter, network, 1000, {ports}, 7).at(1000_KiB).bandwidth ==
        999_KiB / 50_GBps);
}
