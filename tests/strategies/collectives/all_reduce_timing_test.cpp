#include <doctest/doctest.h>

#include <numeric>

#include "sim/engine/replay.hpp"
#include "strategies/collectives/placement/reducing_switches.hpp"
#include "strategies/collectives/registry/spec.hpp"
#include "strategies/collectives/sizing.hpp"
#include "tests/sim/engine/star.hpp"
#include "topologies/files/cluster_file.hpp"
#include "topologies/in_network/lower_with_switches.hpp"

/// Times of all-reduces without a closed form, against what their ports have to carry.
using namespace lockstep;

namespace {

/// A network with what algorithms are told of it.
struct Bed {
  Network network;
  RankLayout layout;
  int n = 0;
  ReducingSwitches switches{};
  AlphaBeta hop{Duration{}, 1_GBps, std::nullopt};
};

/// A shipped cluster; ranks 0 and `far` are a hop apart.
Bed cluster(const char* name, const ClusterSize& size, int far) {
  const auto path = std::filesystem::path{LOCKSTEP_SOURCE_DIR} / "configs" / "clusters" / name;
  const Cluster built = load_cluster(path, size).cluster;
  Bed bed;
  bed.n = built.ranks();
  bed.layout.per_node = built.gpus_per_node();
  bed.layout.dimensions = built.dimensions();
  bed.switches = ReducingSwitches{built, true};
  bed.switches.add_to(bed.layout);
  bed.network = lower_with_switches(built, bed.switches.forests());
  Route route;
  REQUIRE(bed.network.router->route(0, static_cast<EndpointId>(far), route));
  bed.hop.alpha = route.latency;
  bed.hop.beta = bed.network.links[route.hops.front().link].bandwidth;
  for (const Hop& hop : route.hops)
    bed.hop.beta = std::min(bed.hop.beta, bed.network.links[hop.link].bandwidth);
  return bed;
}

Bed star_of(int n) {
  Bed bed;
  bed.n = n;
  bed.hop = {2_us, 50_GBps, std::nullopt};
  bed.network = test::star(static_cast<std::size_t>(n), bed.hop.beta, bed.hop.alpha);
  return bed;
}

Bed dgx(int nodes) {
  return cluster("dgx-h100.json", {nodes, std::nullopt, 0}, nodes > 1 ? 8 : 1);
}

Duration time_of(const Bed& bed, std::string_view text, Bytes size,
                 Collective collective = Collective::all_reduce) {
  const ParsedSpecs parsed = parse_specs(text, collective);
  REQUIRE(parsed.specs.size() == 1);
  const AlgorithmSpec& spec = parsed.specs[0];
  const SchedulePtr schedule = make_schedule(*spec.algorithm, {.n = bed.n,
                                                               .arguments = spec.arguments,
                                                               .layout = bed.layout,
                                                               .size = size,
                                                               .hop = bed.hop});
  CollectiveCall call{spec.text(), schedule, {}, {}, {}};
  call.block = divide_message(size, *find_element_type("uint8"), schedule->blocks()).block;
  call.members.resize(static_cast<std::size_t>(bed.n));
  std::iota(call.members.begin(), call.members.end(), EndpointId{0});
  if (schedule->ranks() > bed.n) {
    const auto switches = bed.switches.endpoints(spec.algorithm->auxiliary_ranks);
    const int more = schedule->ranks() - bed.n;
    REQUIRE(std::ssize(switches) >= more);
    call.members.insert(call.members.end(), switches.begin(), switches.begin() + more);
  }
  const ReplayResult result = replay(bed.network, {{call}, {}}, NetworkModel::fluid);
  CHECK(result.unfinished.empty());
  return result.end.since_start();
}

/// Bytes over rate, over the time that it took.
double share_of_bound(const Bed& bed, std::string_view text, Bytes size, double bytes, Rate rate) {
  return bytes / rate.bytes_per_second() / time_of(bed, text, size).seconds();
}

constexpr Bytes kLong{std::int64_t{1} << 30};
constexpr double kLongBytes = 1 << 30;

}  // namespace

TEST_CASE("rings that share their ports take as long as one") {
  const Bed bed = star_of(8);
  const Bytes size{8 * 4 * 2 * 7 * 100'000};
  const Duration one = time_of(bed, "ring", size);
  CHECK(one == 14 * 2_us + Bytes{14 * size.count() / 8} / 50_GBps);
  CHECK(time_of(bed, "bidirectional_ring", size) == one);
  CHECK(time_of(bed, "ring:channels=4", size) == one);
}

TEST_CASE("rings in both directions take half the bytes' time where both directions have ports") {
  const Bed bed = cluster("ring.json", {std::nullopt, 16, 0}, 1);
  const Bytes size{16 * 2 * 1'000'000};
  CHECK(time_of(bed, "ring", size) == 30 * 1_us + Bytes{30 * 2'000'000} / 50_GBps);
  const Duration both = 30 * 1_us + Bytes{30 * 1'000'000} / 50_GBps;
  CHECK(time_of(bed, "bidirectional_ring", size) == both);
  CHECK(time_of(bed, "ring:channels=2", size) == both);
}

TEST_CASE("on a torus copies and rings divide the bytes by their number") {
  const Bed bed = cluster("torus-2d.json", {std::nullopt, 16, 0}, 1);
  const Bytes size{16 * 4 * 1'000'000};
  for (const int copies : {1, 2, 4}) {
    CAPTURE(copies);
    const Duration bytes = Bytes{30 * 4'000'000 / copies} / 50_GBps;
    const std::string count = std::to_string(copies);
    CHECK(time_of(bed, "torus:copies=" + count, size) == 12 * 1_us + bytes);
    CHECK(time_of(bed, "ring:channels=" + count, size) == 30 * 1_us + bytes);
  }
}

TEST_CASE("trees come near what their inner ranks have to send") {
  // 3S by one tree, 2S by two. Filling and emptying the pipeline cost the rest.
  const Bed bed = star_of(32);
  CHECK(share_of_bound(bed, "binary_tree", kLong, 3 * kLongBytes, 50_GBps) > 0.95);
  CHECK(share_of_bound(bed, "double_binary_tree", kLong, 2 * kLongBytes, 50_GBps) > 0.95);
  // Never faster than that, and short messages take the rounds of the depth.
  CHECK(share_of_bound(bed, "double_binary_tree", kLong, 2 * kLongBytes, 50_GBps) < 1);
  const Duration least = time_of(bed, "double_binary_tree", Bytes{64});
  CHECK(least >= 9 * 2_us);
  CHECK(least <= 11 * 2_us);
}

TEST_CASE("where there is no closed form the estimate is near") {
  // A round of a tree costs the same whether a rank has both children or one, so an estimate may
  // be above by a third; it is never below by more than the rounds that fill and empty a pipeline.
  for (const int n : {4, 7, 16, 33}) {
    const Bed bed = star_of(n);
    for (const char* text : {"ring:channels=4", "bidirectional_ring", "binary_tree",
                             "double_binary_tree", "double_binary_tree:channels=2"}) {
      for (const Bytes size : {Bytes{4096}, 4_MiB, 256_MiB}) {
        CAPTURE(n);
        CAPTURE(text);
        CAPTURE(size.count());
        const AlgorithmSpec spec = parse_specs(text, Collective::all_reduce).specs.at(0);
        const AlgorithmInput input{
            .n = n, .arguments = spec.arguments, .size = size, .hop = bed.hop};
        const auto estimate = estimate_of(*spec.algorithm, input);
        REQUIRE(estimate.has_value());
        const std::int64_t blocks = make_schedule(*spec.algorithm, input)->blocks();
        const Bytes block = divide_message(size, *find_element_type("uint8"), blocks).block;
        const Duration near = ideal_time(*estimate, block, bed.hop);
        const double ratio = time_of(bed, text, size).seconds() / near.seconds();
        CHECK(ratio > 0.7);
        CHECK(ratio < 1.1);
      }
    }
  }
}

TEST_CASE("chunks are chosen well") {
  const Bed bed = star_of(16);
  for (const char* name : {"binary_tree", "double_binary_tree"}) {
    for (const Bytes size : {64_KiB, 4_MiB, 256_MiB}) {
      const Duration chosen = time_of(bed, name, size);
      for (const char* chunks : {"1", "2", "4", "16", "64", "256"}) {
        const Duration other = time_of(bed, std::string{name} + ":chunks=" + chunks, size);
        CHECK(chosen.seconds() < 1.05 * other.seconds());
      }
    }
  }
}

TEST_CASE("on four DGX H100 rings and trees of eight channels keep all eight NICs busy") {
  // A node's eight NICs carry 2(n-1)/n*S at 48 GB/s each in rings; in two trees 2S, by the nodes
  // that are inner in one of them.
  const Bed bed = dgx(4);
  const double eighth = kLongBytes / 8;
  CHECK(share_of_bound(bed, "ring", kLong, 2 * 31.0 / 32 * kLongBytes, 48_GBps) > 0.98);
  CHECK(share_of_bound(bed, "ring:channels=8", kLong, 2 * 31.0 / 32 * eighth, 48_GBps) > 0.95);
  CHECK(share_of_bound(bed, "double_binary_tree", kLong, 2 * kLongBytes, 48_GBps) > 0.95);
  CHECK(share_of_bound(bed, "double_binary_tree:channels=8", kLong, 2 * eighth, 48_GBps) > 0.9);
}

TEST_CASE("chunks hide the stages inside nodes behind those between them") {
  // Inside nodes 2 * 7/8 * S over NVLink at 370.8 GB/s, slower than 2 * 3/4 * S/8 over the NIC.
  const Bed bed = dgx(4);
  const Rate nvlink = Rate::bytes_per_second(370'800'000'000);
  const double inside = 1.75 * kLongBytes;
  CHECK(share_of_bound(bed, "hierarchical", kLong, inside, nvlink) < 0.6);
  CHECK(share_of_bound(bed, "hierarchical:chunks=16", kLong, inside, nvlink) > 0.95);
  CHECK(share_of_bound(bed, "sharp", kLong, inside, nvlink) > 0.95);
  // With the nodes' switches (1 + 1/8)*S.
  CHECK(share_of_bound(bed, "sharp:inside=nvls", kLong, 1.125 * kLongBytes, nvlink) > 0.9);
}

TEST_CASE("NVLS takes (1 + 1/n)*S over NVLink in a node, and shares over the NICs beyond") {
  const Rate nvlink = Rate::bytes_per_second(370'800'000'000);
  CHECK(share_of_bound(dgx(1), "nvls", kLong, 1.125 * kLongBytes, nvlink) > 0.95);
  CHECK(share_of_bound(dgx(2), "nvls", kLong, 1.125 * kLongBytes, nvlink) > 0.9);
  // On four nodes the NICs' 2 * 3/4 * S/8 is longer.
  CHECK(share_of_bound(dgx(4), "nvls", kLong, 1.5 * kLongBytes / 8, 48_GBps) > 0.8);
}

TEST_CASE("SHARP takes the message's time once over one port per rank") {
  const Bed bed = cluster("star.json", {std::nullopt, 16, 0}, 1);
  CHECK(share_of_bound(bed, "sharp", kLong, kLongBytes, 50_GBps) > 0.97);
  // Up and down one cable of 1 us each way.
  CHECK(time_of(bed, "sharp:chunks=1", Bytes{0}) == 2_us);
  // Halves: one side of the port has all of the message or 15/16, the other a share.
  for (const auto& [half, share] :
       {std::pair{Collective::reduce_scatter, 1.0}, std::pair{Collective::all_gather, 15.0 / 16}}) {
    const double bound = share * kLongBytes / (50_GBps).bytes_per_second();
    CHECK(bound / time_of(bed, "sharp", kLong, half).seconds() > 0.97);
    CHECK(time_of(bed, "sharp", kLong, half).seconds() >= bound);
    CHECK(time_of(bed, "sharp:chunks=1", Bytes{0}, half) == 2_us);
  }
}
