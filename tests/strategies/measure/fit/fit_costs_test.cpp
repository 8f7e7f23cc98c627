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
  const NcclCostTerms one = nccl_cost_terms(facts(8, 1), key(NcclProtocol::ll), 8_MiB);
  CHECK(one.hops == 14);
  CHECK(one.network_hops == 0);
  CHECK(one.wire_bytes == 14.0 * 1024 * 1024);
  CHECK(one.own_bytes == 1024.0 * 1024);
  // 16 on two nodes: of 30 hops two are between nodes; each of 8 NICs has an eighth of the bytes.
  const NcclCostTerms two = nccl_cost_terms(facts(16, 2), key(NcclProtocol::ll, true), 16_MiB);
  CHECK(two.hops == 28);
  CHECK(two.network_hops == 2);
  CHECK(two.wire_bytes == 30.0 * 1024 * 1024 / 8);
  // A tree over four nodes of eight: up and down a chain of 7 and two levels.
  NcclCostKey tree = key(NcclProtocol::ll, true);
  tree.kind = NcclCostKind::tree;
  const NcclCostTerms levels = nccl_cost_terms(facts(32, 4), tree, 1_MiB);
  CHECK(levels.hops == 14);
  CHECK(levels.network_hops == 4);
  NcclCostKey grouped = key(NcclProtocol::simple);
  grouped.kind = NcclCostKind::grouped;
  grouped.collective = Collective::all_to_all;
  CHECK(nccl_cost_terms(facts(4, 1), grouped, 4_MiB).hops == 3);
}

TEST_CASE("a cost is launch, hops and bytes") {
  const NcclCostTerms terms{14, 0, 2e6, 0};
  // 8 us + 14 us + 2 MB at 200 GB/s, which is 10 us.
  CHECK(nccl_cost_time(a_cost(key(NcclProtocol::ll)), terms) == 32_us);
}

TEST_CASE("costs that made the points are fitted again, and serve their neighbours") {
  const NcclCost truth = a_cost(key(NcclProtocol::ll));
  std::vector<CostPoint> points;
  for (const int ranks : {2, 8})
    for (const Bytes size : {1_KiB, 64_KiB, 1_MiB, 16_MiB}) {
      const NcclCostTerms terms = nccl_cost_terms(facts(ranks, 1), truth.key, size);
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
