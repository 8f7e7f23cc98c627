#include "strategies/nccl/tuning.hpp"

#include <doctest/doctest.h>

#include "tests/strategies/nccl/nccl_helpers.hpp"

namespace lockstep {
namespace {

using enum NcclAlgorithm;
using enum NcclProtocol;

Duration time(const NcclFacts& facts, Collective collective, Bytes size, NcclAlgorithm algorithm,
              NcclProtocol protocol) {
  return of(nccl_estimates(tuning_of(), facts, collective, size), algorithm, protocol).time;
}

Duration ar_time(const NcclFacts& facts, Bytes size, NcclAlgorithm algorithm,
                 NcclProtocol protocol) {
  return time(facts, Collective::all_reduce, size, algorithm, protocol);
}

/// NCCL's tables with what an independent evaluation of the model must have put in, since all of
/// its crossovers follow from that and none of the other readings gives them all: on several nodes
/// LL is limited as the GPUs' own architecture is on one (45 and 35 GB/s, not the 22.5 and 19 of
/// AMD hosts), and the CPU spends 1 us per step of a ring, not AMD's 2.
NcclTuning as_evaluated() {
  NcclTuning tuning = tuning_of();
  tuning.ll_total_row[NcclCpu::amd] = NcclArchitecture::hopper;
  tuning.net_overhead.per_step[NcclCpu::amd] = 1_us;
  return tuning;
}

TEST_CASE("one HGX H100: ring, LL to below 4 MiB, LL128 to below 64 MiB, then Simple") {
  CHECK(picks(tuning_of(), hgx_h100(1)) == "ring ll, 4 MiB ring ll128, 64 MiB ring simple");
}

TEST_CASE("the evaluation of the model on several HGX H100 is reproduced at every crossover") {
  const NcclTuning tuning = as_evaluated();
  CHECK(picks(tuning, hgx_h100(2)) ==
        "tree ll, 256 KiB ring ll, 512 KiB tree ll128, 32 MiB ring ll128, 128 MiB ring simple");
  CHECK(picks(tuning, hgx_h100(16)) ==
        "tree ll, 512 KiB tree ll128, 128 MiB tree simple, 1 GiB ring simple");
  CHECK(picks(tuning, hgx_h100(64)) ==
        "tree ll, 512 KiB tree ll128, 128 MiB tree simple, 4 GiB ring simple");
  CHECK(picks(tuning, hgx_h100(256)) ==
        "tree ll, 1 MiB tree ll128, 128 MiB tree simple");  // no ring up to 8 GiB
}

TEST_CASE("with the figures of AMD hosts several HGX H100 leave LL sooner and trees later") {
  CHECK(picks(tuning_of(), hgx_h100(2)) ==
        "tree ll, 256 KiB tree ll128, 32 MiB ring ll128, 256 MiB ring simple");
  CHECK(picks(tuning_of(), hgx_h100(16)) ==
        "tree ll, 256 KiB tree ll128, 128 MiB tree simple, 2 GiB ring simple");
  CHECK(picks(tuning_of(), hgx_h100(64)) ==
        "tree ll, 256 KiB tree ll128, 128 MiB tree simple, 8 GiB ring simple");
  CHECK(picks(tuning_of(), hgx_h100(256)) == "tree ll, 512 KiB tree ll128, 128 MiB tree simple");
}

TEST_CASE("the floor of a ring of eight is 15 us") {
  // 6.6 us + 2 * 7 hops of 0.6 us, and next to nothing for 8 B
  for (const NcclFacts& facts : {hgx_h100(1), hgx_a100()}) {
    const auto pick = nccl_pick(tuning_of(), facts, Collective::all_reduce, 8_B);
    REQUIRE(pick.has_value());
    CHECK(text_of(pick) == "ring ll");
    CHECK(pick->time > 15_us);
    CHECK(pick->time < 15'001_ns);
  }
}

TEST_CASE("eight A100 take 300 us for 32 MiB, where 379.5 us were measured") {
  // 33554432 B / (240 GB/s * 8/14) = 244.7 us; 8.4 us + 14 * 3.4 us = 56 us
  const auto pick = nccl_pick(tuning_of(), hgx_a100(), Collective::all_reduce, 32_MiB);
  CHECK(text_of(pick) == "ring simple");
  CHECK(pick->time > 300'600_ns);
  CHECK(pick->time < 300'700_ns);
}

TEST_CASE("a ring with Simple through 256 nodes has 19.3 ms of latency before its plateau") {
  // 4094 steps, 510 of them over the network: 8.4 + 3584 * 3.4 + 510 * 14 us = 19334 us. The CPU's
  // 1 us, three times for Simple, is hidden behind the NVLink hop's 3.4 us.
  const NcclFacts intel = hgx_h100(256, NcclCpu::intel);
  CHECK(ar_time(intel, 8_B, ring, simple) >= 19'334_us);
  CHECK(ar_time(intel, 8_B, ring, simple) < 19'334'100_ns);
  // AMD's 2 us are not: 8.4 + 3584 * 6 + 510 * 14 us
  CHECK(ar_time(hgx_h100(256), 8_B, ring, simple) >= 28'652'400_ns);
  CHECK(ar_time(hgx_h100(256), 8_B, ring, simple) < 28'652'500_ns);
}

TEST_CASE("the plateau begins where every channel has 64 B per rank") {
  // 16 channels, 2048 ranks: 2 MiB. 19334 us * 1.4 = 27067.6 us, and 2 MiB at 8 * 48 GB/s / 2 =
  // 192.1 GB/s (N / nsteps = 2048 / 4094), 10.9 us.
  const NcclFacts intel = hgx_h100(256, NcclCpu::intel);
  CHECK(ar_time(intel, Bytes{(2 << 20) - 1}, ring, simple) < 19'345_us);
  CHECK(ar_time(intel, 2_MiB, ring, simple) > 27'078_us);
  CHECK(ar_time(intel, 2_MiB, ring, simple) < 27'079_us);
}

TEST_CASE("single values by hand") {
  // Tree, 2 nodes: bus min(384 * .92, 8 * 41.4) = 331.2 GB/s. Simple at 1 GiB: 165.6 GB/s, 6484 us
  // and 8.4 + 2 * (7 * 4 + 14) = 92.4 us.
  const Duration tree_simple = ar_time(hgx_h100(2), 1_GiB, tree, simple);
  CHECK(tree_simple > 6576_us);
  CHECK(tree_simple < 6577_us);
  // Tree LL128: 331.2 * 120/128 = 310.5, capped to 8 * 36.7 = 293.6 GB/s; half of it, times .8 of
  // the correction at 4 KiB (entry 6): 117.44 GB/s, 0.035 us. 14 + 2 * (7 * 1.25 + 8.5) = 48.5 us.
  CHECK(ar_time(hgx_h100(2), 4_KiB, tree, ll128) > 48'534_ns);
  CHECK(ar_time(hgx_h100(2), 4_KiB, tree, ll128) < 48'536_ns);
  // Ring LL, 2 nodes with Intel: min(39, 192) * 16/30 = 20.8 GB/s; 6.6 + 28 * 1 + 2 * 2.7 = 40 us.
  const Duration ring_ll = ar_time(hgx_h100(2, NcclCpu::intel), 20'800'000_B, ring, ll);
  CHECK(ring_ll > 1'039'900_ns);
  CHECK(ring_ll < 1'040'100_ns);
  // Tree LL on one A100 box: min(min(240 * .92, 12 * 24) / 3.8, 87.7) / 2 = 29.05 GB/s; at 64 B
  // 6.8 + 14 * .6 = 15.2 us.
  CHECK(ar_time(hgx_a100(), 64_B, tree, ll) > 15'202_ns);
  CHECK(ar_time(hgx_a100(), 64_B, tree, ll) < 15'203_ns);
}

TEST_CASE("a broadcast over rings that differ pays every hop") {
  // 24 B on 1024 ranks: 6.6 + 1024 * 2.7 = 2771.4 us, as NCCL printed (NVIDIA/nccl issue 1304)
  NcclFacts facts = hgx_h100(128, NcclCpu::intel);
  CHECK(time(facts, Collective::broadcast, 24_B, ring, ll) > 2771'400_ns);
  CHECK(time(facts, Collective::broadcast, 24_B, ring, ll) < 2771'500_ns);
  facts.same_channels = true;  // 6.6 + 2.7
  CHECK(time(facts, Collective::broadcast, 24_B, ring, ll) < 9400_ns);
}

TEST_CASE("all-gather and reduce-scatter take half the steps of an all-reduce") {
  // 8 H100: 8.4 + 7 * 3.4 = 32.2 us; 1 GiB at 360 * 8/7 = 411.4 GB/s = 2609.8 us
  for (const Collective collective : {Collective::all_gather, Collective::reduce_scatter}) {
    const Duration took = time(hgx_h100(1), collective, 1_GiB, ring, simple);
    CHECK(took > 2641_us);
    CHECK(took < 2643_us);
    CHECK_FALSE(
        of(nccl_estimates(tuning_of(), hgx_h100(1), collective, 1_GiB), tree, simple).allowed);
  }
}

TEST_CASE("with NVLS the switch takes over from 2 MiB on one HGX H100") {
  NcclFacts facts = hgx_h100(1);
  facts.nvls = {8, 40_GBps, 40_GBps};
  // 8 channels * 40 GB/s * .85 * 7/8 * 2 = 476 GB/s, which 480 GB/s of bus bandwidth confirm
  // (NVIDIA/nccl issue 1455); * 8/14 = 272 GB/s. 1 GiB: 3947.6 us + 25 us.
  CHECK(ar_time(facts, 1_GiB, nvls, simple) > 3972_us);
  CHECK(ar_time(facts, 1_GiB, nvls, simple) < 3973_us);
  CHECK(picks(tuning_of(), facts) == "ring ll, 2 MiB nvls simple");
}

TEST_CASE("NVLSTree is for several nodes, and reaches its cap there") {
  NcclFacts facts = hgx_h100(2);
  facts.nvls = {8, 40_GBps, 40_GBps};
  // min(59.5 as inside a node, 57.7) * 8 = 461.6 GB/s of bus bandwidth, * 16/30 = 246.2 GB/s:
  // 4361.5 us; 25 + 2 * 20.9 = 66.8 us
  CHECK(ar_time(facts, 1_GiB, nvls_tree, simple) > 4428_us);
  CHECK(ar_time(facts, 1_GiB, nvls_tree, simple) < 4429_us);
  const auto all = nccl_estimates(tuning_of(), facts, Collective::all_reduce, 1_GiB);
  CHECK(of(all, nvls_tree, simple).allowed);
  CHECK(of(all, nvls, simple).why_not == "no reduction in the network");
  facts.nodes = 1;
  facts.ranks = 8;
  CHECK(of(nccl_estimates(tuning_of(), facts, Collective::all_reduce, 1_GiB), nvls_tree, simple)
            .why_not == "several nodes alone");
}

TEST_CASE("CollNet needs a network that reduces") {
  NcclFacts facts = hgx_h100(4);
  const auto without = nccl_estimates(tuning_of(), facts, Collective::all_reduce, 1_GiB);
  CHECK(of(without, collnet_chain, simple).why_not == "no reduction in the network");
  facts.has_collnet = true;
  const auto with = nccl_estimates(tuning_of(), facts, Collective::all_reduce, 1_GiB);
  CHECK(of(with, collnet_chain, simple).allowed);
  // 8 * 48 / 2 = 192 GB/s: 5592.4 us; 14 * 2.8 + 30 = 69.2 us
  CHECK(of(with, collnet_chain, simple).time > 5661_us);
  CHECK(of(with, collnet_chain, simple).time < 5662_us);
  // As many GPUs as channels: 8 * 48 * .85 / 2 = 163.2 GB/s, 6579.3 us; 2 * (3.7 + 7 * .4) + 31 us
  CHECK(of(with, collnet_direct, simple).time > 6623_us);
  CHECK(of(with, collnet_direct, simple).time < 6624_us);
  CHECK(of(with, collnet_direct, ll).why_not == "Simple alone");
}

// COLLECTIVES, section 2.1: all-gather and reduce-scatter by ring, PAT, NVLS and CollNet direct.
TEST_CASE("CollNet gathers and scatters, fastest where a ring has many steps") {
  NcclFacts facts = hgx_h100(16);
  facts.nvls = {8, 40_GBps, 48_GBps};
  facts.has_collnet = true;
  for (const Collective collective : {Collective::all_gather, Collective::reduce_scatter}) {
    const auto all = nccl_estimates(tuning_of(), facts, collective, 1_GiB);
    CHECK(of(all, collnet_chain, simple).why_not == "not for this collective");
    CHECK(of(all, nvls_tree, simple).why_not == "not for this collective");
    // As many GPUs as channels: 8 * 48 * .85 = 326.4 GB/s, 3289.7 us; 2 * (3.7 + 7 * .4) + 31 us
    CHECK(of(all, collnet_direct, simple).allowed);
    CHECK(of(all, collnet_direct, simple).time > 3333_us);
    CHECK(of(all, collnet_direct, simple).time < 3334_us);
    // In nodes 8 * 40 * .85 * 7/8 * 7/8 = 208.25 GB/s: 5156.0 us; 25 + 18 us
    CHECK(of(all, nvls, simple).allowed);
    CHECK(of(all, nvls, simple).time > 5198_us);
    CHECK(of(all, nvls, simple).time < 5200_us);
    const auto pick = [&](Bytes size) {
      return nccl_pick(tuning_of(), facts, collective, size)->algorithm;
    };
    CHECK(pick(1_MiB) == collnet_direct);
    CHECK(pick(8_GiB) == ring);  // 8 * 48 * 128/127 GB/s
    facts.has_collnet = false;
    CHECK(pick(1_MiB) == ring);
    facts.has_collnet = true;
  }
  // NCCL 2.12 has rings alone.
  NcclTuning before = tuning_of();
  before.has[nvls] = false;
  const auto old = nccl_estimates(before, facts, Collective::all_gather, 1_MiB);
  CHECK(of(old, collnet_direct, simple).why_not == "not for this collective");
}

TEST_CASE("PAT is for one GPU per node") {
  NcclFacts facts = hgx_h100(16);
  facts.nvlink = false;
  facts.ranks = 16;
  facts.ring = {1, 48_GBps, 48_GBps};
  facts.channels = 2;
  const auto all = nccl_estimates(tuning_of(), facts, Collective::all_gather, 1_MiB);
  CHECK(of(all, pat, simple).allowed);
  // 8 + 4 * 14 / 3.5 + 16 * 2.8 = 68.8 us; 1 MiB at 36 GB/s = 29.1 us
  CHECK(of(all, pat, simple).time > 97'900_ns);
  CHECK(of(all, pat, simple).time < 98'000_ns);
  CHECK(of(nccl_estimates(tuning_of(), hgx_h100(2), Collective::all_gather, 1_MiB), pat, simple)
            .why_not == "too many GPUs per node for PAT");
}

TEST_CASE("with one GPU per node the network's latency is the tree's, and the NIC adds its own") {
  NcclFacts facts = hgx_h100(4, NcclCpu::intel);
  facts.ranks = 4;
  // ring LL: 6.6 + 6 steps, all of them over the network, of 5 us
  CHECK(ar_time(facts, Bytes{}, ring, ll) == 36'600_ns);
  facts.nic_latency = 1_us;
  CHECK(ar_time(facts, Bytes{}, ring, ll) == 42'600_ns);
  // Simple waits for the NIC twice: 8.4 + 6 * (14 + 2)
  CHECK(ar_time(facts, Bytes{}, ring, simple) == 104'400_ns);
}

TEST_CASE("LL128 is off where stores of 128 B are not kept together") {
  const auto allowed = [](const NcclFacts& facts, const NcclFilters& filters = {}) {
    return of(nccl_estimates(tuning_of(), facts, Collective::all_reduce, 1_MiB, filters), ring,
              ll128)
        .allowed;
  };
  NcclFacts facts = hgx_h100(2);
  CHECK(allowed(facts));
  facts.inter_path = NcclPath::pxn;
  CHECK(allowed(facts));
  facts.architecture = NcclArchitecture::ampere;
  CHECK_FALSE(allowed(facts));
  CHECK(allowed(facts, parse_nccl_filters("", "ll128").filters));
  CHECK_FALSE(allowed(facts, parse_nccl_filters("", "^ll").filters));
  facts = hgx_h100(1);
  facts.intra_path = NcclPath::phb;
  CHECK_FALSE(allowed(facts));
}

TEST_CASE("channels are as many as have something to do") {
  const auto channels = [](Bytes size, NcclAlgorithm algorithm, NcclProtocol protocol) {
    return of(nccl_estimates(tuning_of(), hgx_h100(1), Collective::all_reduce, size), algorithm,
              protocol)
        .channels;
  };
  // 512 threads with 8 B for each of 8 ranks: 32 KiB per channel of a ring with LL
  CHECK(channels(8_B, ring, ll) == 1);
  CHECK(channels(64_KiB, ring, ll) == 2);
  CHECK(channels(1_MiB, ring, ll) == 24);
  CHECK(channels(64_KiB, tree, ll) == 16);      // 4 KiB per channel
  CHECK(channels(64_KiB, ring, ll128) == 12);   // 640 threads * 8 B = 5 KiB
  CHECK(channels(64_KiB, ring, simple) == 2);   // 512 threads * 64 B = 32 KiB
  CHECK(channels(64_KiB, nvls, simple) == 24);  // NVLS has rules of its own
}

TEST_CASE("every estimate says why it is not allowed, or is") {
  for (const Collective collective :
       {Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter,
        Collective::broadcast, Collective::reduce}) {
    for (const int nodes : {1, 2, 16}) {
      const auto all = nccl_estimates(tuning_of(), hgx_h100(nodes), collective, 1_MiB);
      CHECK(all.size() == 21);
      for (const NcclEstimate& one : all) {
        CHECK(one.allowed == one.why_not.empty());
        if (one.allowed) CHECK(one.time > Duration{});
        CHECK(one.channels >= 1);
      }
    }
  }
}

TEST_CASE("there is nothing to choose for a rank alone, for sends, and where all is refused") {
  NcclFacts alone = hgx_h100(1);
  alone.ranks = 1;
  CHECK(nccl_estimates(tuning_of(), alone, Collective::all_reduce, 1_MiB).empty());
  CHECK(nccl_estimates(tuning_of(), hgx_h100(1), Collective::all_to_all, 1_MiB).empty());
  const NcclFilters trees = parse_nccl_filters("tree", "").filters;
  CHECK_FALSE(
      nccl_pick(tuning_of(), hgx_h100(1), Collective::all_gather, 1_MiB, trees).has_value());
  CHECK(text_of(nccl_pick(tuning_of(), hgx_h100(1), Collective::all_reduce, 1_MiB, trees)) ==
        "tree ll128");
}

TEST_CASE("2.12 has shorter base latencies, and less to choose from") {
  const auto at = [](NcclAlgorithm algorithm, NcclProtocol protocol) {
    return of(nccl_estimates(tuning_of("2.12"), hgx_a100(), Collective::all_reduce, Bytes{}),
              algorithm, protocol);
  };
  CHECK(at(ring, ll).time == 12_us);      // 3.6 + 14 * 0.6
  CHECK(at(tree, simple).time == 56_us);  // 0 + 14 * 4
  CHECK(at(nvls, simple).why_not == "not in this version of NCCL");
}

TEST_CASE("a size that no time can hold is an overflow") {
  NcclFacts facts = hgx_h100(1);
  facts.ring = {1, Rate::bytes_per_second(1), Rate::bytes_per_second(1)};
  CHECK_THROWS_AS(
      (void)nccl_estimates(tuning_of(), facts, Collective::all_reduce, Bytes{INT64_MAX}),
      OutOfRange);
}

}  // namespace
}  // namespace lockstep
