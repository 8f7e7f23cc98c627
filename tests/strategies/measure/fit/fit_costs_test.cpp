#include "strategies/measure/fit/fit_costs.hpp"

#include <doctest/doctest.h>

namespace lockstep {

namespace {

NcclFacts facts(int ranks, int nodes) {
  NcclFacts out;
  out.ranks = ranks;
  out.nodes = nodes;
  out.architecture = NcclArchitecture::ampere;
  return out;
}

NcclCostKey key(NcclProtocol protocol, bool several = false) {
  return {"2.30", NcclArchitecture::ampere, Collective::all_reduce, NcclCostKind::ring, protocol,
          several};
}

NcclCost a_cost(const NcclCostKey& of) {
  NcclCost out;
  out.key = of;
  out.launch = 8_us;
  out.hop = 1_us;
  out.wire = 200_GBps;
  return out;
}

}  // namespace

TEST_CASE("terms of rings, trees and grouped sends") {
  // Ring all-reduce among 8 on one node: 14 hops, each of 1/8 of the message; a part is 1/8.
  const NcclCostTerms one = nccl_cost_terms({}, facts(8, 1), key(NcclProtocol::ll), 8_MiB);
  CHECK(one.hops == 14);
  CHECK(one.network_hops == 0);
  CHECK(one.wire_bytes == 14.0 * 1024 * 1024);
  CHECK(one.own_bytes == 1024.0 * 1024);
  // 16 on two nodes: of 30 hops two are between nodes; each of 8 NICs has an eighth of the bytes.
  const NcclCostTerms two = nccl_cost_terms({}, facts(16, 2), key(NcclProtocol::ll, true), 16_MiB);
  CHECK(two.hops == 28);
  CHECK(two.network_hops == 2);
  CHECK(two.wire_bytes == 30.0 * 1024 * 1024 / 8);
  // A tree over four nodes of eight: up and down a chain of 7 and two levels.
  NcclCostKey tree = key(NcclProtocol::ll, true);
  tree.kind = NcclCostKind::tree;
  const NcclCostTerms levels = nccl_cost_terms({}, facts(32, 4), tree, 1_MiB);
  CHECK(levels.hops == 14);
  CHECK(levels.network_hops == 4);
  NcclCostKey grouped = key(NcclProtocol::simple);
  grouped.kind = NcclCostKind::grouped;
  grouped.collective = Collective::all_to_all;
  CHECK(nccl_cost_terms({}, facts(4, 1), grouped, 4_MiB).hops == 3);
}

TEST_CASE("a cost is launch, hops and bytes") {
  const NcclCostTerms terms{14, 0, 2e6, 0};
  // 8 us + 14 us + 2 MB at 200 GB/s, which is 10 us.
  CHECK(nccl_cost_time(a_cost(key(NcclProtocol::ll)), terms) == 32_us);
}

TEST_CASE("a rank's own part hides its share of the hops") {
  NcclCost cost = a_cost(key(NcclProtocol::simple));
  cost.wire = std::nullopt;
  cost.hop_hidden_by = 8_MiB;
  const auto hops_us = [&cost](double own) {
    return nccl_cost_time(cost, {14, 0, 0, own * 1024 * 1024, 0, 0}).seconds() * 1e6 - 8;
  };
  CHECK(hops_us(0) == doctest::Approx(14));
  CHECK(hops_us(2) == doctest::Approx(14 * 0.75));  // 2 of 8 MiB
  CHECK(hops_us(8) == doctest::Approx(0));
  CHECK(hops_us(64) == doctest::Approx(0));
}

TEST_CASE("loops of NVLS: shorter messages take smaller chunks") {
  NcclTuning tuning;
  tuning.chunks.nvls.step = 128_KiB;
  tuning.chunks.nvls.shorter = {{64, 64_KiB}, {8, 32_KiB}, {2, 16_KiB}};
  tuning.chunks.nvls.channels[NcclArchitecture::ampere] = 24;
  NcclFacts eight = facts(8, 1);
  eight.nvls.channels = 8;
  NcclCostKey nvls = key(NcclProtocol::simple);
  nvls.kind = NcclCostKind::nvls;
  const auto loops = [&](Bytes size) { return nccl_cost_terms(tuning, eight, nvls, size).loops; };
  // 24 channels and 8 heads: all take 24 MiB with chunks of 128 KiB, 12, 6 and 3 MiB with the
  // others. A channel's heads take turns: 8 loops each time.
  CHECK(loops(4_MiB) == doctest::Approx(8 * 4.0 / 3));
  CHECK(loops(12_MiB) == doctest::Approx(8 * 2));  // twice 32 KiB
  CHECK(loops(64_MiB) == doctest::Approx(8 * 64.0 / 6));
  CHECK(loops(96_MiB) == doctest::Approx(8 * 8));  // eight times 64 KiB
  CHECK(loops(2_GiB) == doctest::Approx(8 * 2048.0 / 24));
  nvls.several_nodes = true;
  CHECK(nccl_cost_terms(tuning, eight, nvls, 64_MiB).loops == 0);
}

TEST_CASE("the transport counts once per message between nodes that waits for the one before") {
  NcclFacts four = facts(32, 4);
  four.transport_latency = 10_us;
  const auto transport_us = [&four](NcclCostKind kind, Collective collective) {
    NcclCostKey of = key(NcclProtocol::simple, true);
    of.kind = kind;
    of.collective = collective;
    return nccl_cost_terms({}, four, of, 1_MiB).transport_s * 1e6;
  };
  CHECK(transport_us(NcclCostKind::ring, Collective::all_reduce) == doctest::Approx(60));  // 2 * 3
  CHECK(transport_us(NcclCostKind::ring, Collective::all_gather) == doctest::Approx(30));
  CHECK(transport_us(NcclCostKind::tree, Collective::all_reduce) ==
        doctest::Approx(40));  // 2 * lg 4
  CHECK(transport_us(NcclCostKind::nvls, Collective::all_reduce) == doctest::Approx(40));
  CHECK(transport_us(NcclCostKind::grouped, Collective::all_to_all) == doctest::Approx(10));
  // Whatever the costs, even without any.
  CHECK(nccl_cost_time({}, {0, 0, 0, 0, 0, 60e-6}) == 60_us);
}

TEST_CASE("costs that made the points are fitted again, and serve their neighbours") {
  const NcclCost truth = a_cost(key(NcclProtocol::ll));
  std::vector<CostPoint> points;
  for (const int ranks : {2, 8})
    for (const Bytes size : {1_KiB, 64_KiB, 1_MiB, 16_MiB}) {
      const NcclCostTerms terms = nccl_cost_terms({}, facts(ranks, 1), truth.key, size);
      points.push_back(
          {"t", truth.key, terms, 1e-6, 1e-6 + nccl_cost_time(truth, terms).seconds()});
    }
  const std::vector<FittedCost> fitted = fit_costs(points);
  REQUIRE(fitted.size() == 1);
  CHECK(fitted[0].cost.launch.seconds() == doctest::Approx(8e-6).epsilon(0.02));
  CHECK(fitted[0].cost.hop.seconds() == doctest::Approx(1e-6).epsilon(0.02));
  CHECK(fitted[0].errors.worst < 0.02);
  // A prior counts as much as one row.
  ProtocolPriors priors;
  priors[NcclProtocol::ll].hop_s = 2e-6;
  const double held = fit_costs(points, priors)[0].cost.hop.seconds();
  CHECK(held >= 1e-6);
  CHECK(held < 1.5e-6);
  // Too few points: nothing is known.
  CHECK(fit_costs(std::span{points}.first(3)).empty());

  const std::vector<NcclCost> costs{truth};
  CHECK(find_nccl_cost(costs, key(NcclProtocol::simple)) == &costs[0]);
  CHECK(find_nccl_cost(costs, key(NcclProtocol::ll, true)) == nullptr);
  NcclCostKey grouped = key(NcclProtocol::ll);
  grouped.kind = NcclCostKind::grouped;
  CHECK(find_nccl_cost(costs, grouped) == nullptr);
}

TEST_CASE("hidden hops are found where several numbers of ranks tell them, and shared") {
  NcclCost gather = a_cost(key(NcclProtocol::simple));
  gather.key.collective = Collective::all_gather;
  gather.hop = 12_us;
  gather.hop_hidden_by = 16_MiB;
  NcclCost reduce = gather;
  reduce.key.collective = Collective::all_reduce;
  std::vector<CostPoint> points;
  const auto add = [&points](const NcclCost& truth, int ranks) {
    for (const Bytes size : {1_MiB, 4_MiB, 16_MiB, 64_MiB, 256_MiB}) {
      const NcclCostTerms terms = nccl_cost_terms({}, facts(ranks, 1), truth.key, size);
      points.push_back(
          {"t", truth.key, terms, 1e-6, 1e-6 + nccl_cost_time(truth, terms).seconds()});
    }
  };
  add(gather, 2);
  add(gather, 8);
  add(reduce, 2);  // one number of ranks: its hops are those of the other
  const std::vector<FittedCost> fitted = fit_costs(points);
  REQUIRE(fitted.size() == 2);
  for (const FittedCost& each : fitted) {
    REQUIRE(each.cost.hop_hidden_by);
    CHECK(each.cost.hop.seconds() == doctest::Approx(12e-6).epsilon(0.1));
    CHECK(static_cast<double>(each.cost.hop_hidden_by->count()) ==
          doctest::Approx(16.0 * 1024 * 1024).epsilon(0.2));
    CHECK(each.errors.worst < 0.05);
  }
  // Nothing is hidden where hops are not told from the launch, or where they are not hidden.
  points.clear();
  add(reduce, 2);
  CHECK_FALSE(fit_costs(points)[0].cost.hop_hidden_by);
  points.clear();
  gather.hop_hidden_by = std::nullopt;
  add(gather, 2);
  add(gather, 8);
  CHECK_FALSE(fit_costs(points)[0].cost.hop_hidden_by);
}

TEST_CASE("loops of NVLS are fitted where they explain the points") {
  NcclCost truth = a_cost(key(NcclProtocol::simple));
  truth.key.kind = NcclCostKind::nvls;
  truth.hop = {};
  truth.wire = std::nullopt;
  truth.loop = 10_us;
  std::vector<CostPoint> points;
  for (const double loops : {1.0, 3.0, 2.5, 10.0, 8.0, 40.0}) {
    const NcclCostTerms terms{0, 0, 1e6, 0, loops, 0};
    points.push_back({"t", truth.key, terms, 1e-6, 1e-6 + nccl_cost_time(truth, terms).seconds()});
  }
  const NcclCost found = fit_costs(points)[0].cost;
  CHECK(found.loop.seconds() == doctest::Approx(10e-6).epsilon(0.02));
  CHECK(found.launch.seconds() == doctest::Approx(8e-6).epsilon(0.05));
}

TEST_CASE("another protocol is nearer than another collective, that than another architecture") {
  NcclCost protocol = a_cost(key(NcclProtocol::simple));
  NcclCost collective = a_cost(key(NcclProtocol::ll));
  collective.key.collective = Collective::all_gather;
  NcclCost architecture = a_cost(key(NcclProtocol::ll));
  architecture.key.architecture = NcclArchitecture::hopper;
  const std::vector<NcclCost> costs{architecture, collective, protocol};
  CHECK(find_nccl_cost(costs, key(NcclProtocol::ll)) == &costs[2]);
  CHECK(find_nccl_cost(std::vector<NcclCost>{architecture, collective}, key(NcclProtocol::ll))
            ->key.collective == Collective::all_gather);
}

}  // namespace lockstep
