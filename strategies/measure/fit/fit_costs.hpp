#pragma once

#include <span>
#include <string>
#include <vector>

#include "strategies/measure/validation/statistics.hpp"
#include "strategies/nccl/cost_terms.hpp"

/// Fits the costs of collectives beyond their links to measured tables.
namespace lockstep {

/// One measured point with its time on the simulated links alone.
struct CostPoint {
  std::string table{};
  NcclCostKey key{};
  NcclCostTerms terms{};
  double links_s = 0;
  double measured_s = 1;
};

struct FittedCost {
  NcclCost cost{};
  ErrorFigures errors{};  // on the points of the fit
};

/// Prior for the cost of a hop beyond link latency, inside a node and between nodes, from the
/// library's own parameters (configs/protocols); applies where the data does not determine it.
struct HopPriors {
  double hop_s = 0;
  double network_hop_s = 0;
};
using ProtocolPriors = NcclTable<NcclProtocol, HopPriors>;

/// One cost per key with at least `least` points, in order of first appearance. find_nccl_cost()
/// uses the nearest key for all others. Hops that transfers hide (rings with Simple inside a node;
/// one hop and size per version and architecture) and loops of NVLS are used where they reduce the
/// mean error of the fit by a third.
[[nodiscard]] std::vector<FittedCost> fit_costs(std::span<const CostPoint> points,
                                                const ProtocolPriors& priors = {},
                                                std::size_t least = 4);

/// (links + cost) / measured - 1 with the nearest cost; without one, cost is 0.
[[nodiscard]] double error_of(const CostPoint& point, const std::vector<NcclCost>& costs);

}  // namespace lockstep
