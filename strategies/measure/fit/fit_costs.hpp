#pragma once

#include <span>
#include <string>
#include <vector>

#include "strategies/measure/validation/statistics.hpp"
#include "strategies/nccl/cost_terms.hpp"

/// Costs of collectives in addition to their links, fitted to tables of them.
namespace lockstep {

/// One measured point, and what it takes on the simulated links alone.
struct CostPoint {
  std::string table{};
  NcclCostKey key{};
  NcclCostTerms terms{};
  double links_s = 0;
  double measured_s = 1;
};

struct FittedCost {
  NcclCost cost{};
  ErrorFigures errors{};  // of the points that it was fitted to
};

/// What a hop takes beyond the links' latency by the library's own figures, inside a node and
/// between nodes (configs/protocols): where rows do not tell, fits stay near these.
struct HopPriors {
  double hop_s = 0;
  double network_hop_s = 0;
};
using ProtocolPriors = NcclTable<NcclProtocol, HopPriors>;

/// One cost per key that has at least `least` points; of keys with fewer nothing is known, and
/// find_nccl_cost() takes their neighbours'. In the order of the first point of each.
[[nodiscard]] std::vector<FittedCost> fit_costs(std::span<const CostPoint> points,
                                                const ProtocolPriors& priors = {},
                                                std::size_t least = 4);

/// (links + cost) / measured - 1 by the nearest cost; nothing is added if there is none.
[[nodiscard]] double error_of(const CostPoint& point, const std::vector<NcclCost>& costs);

}  // namespace lockstep
