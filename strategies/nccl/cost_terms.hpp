#pragma once

#include <vector>

#include "strategies/nccl/cost/cost_data.hpp"
#include "strategies/nccl/facts.hpp"
#include "strategies/nccl/nccl_choice.hpp"

namespace lockstep {

struct NcclTuning;

/// What the figures of a NcclCost are multiplied with.
struct NcclCostTerms {
  double hops = 0;
  double network_hops = 0;
  double wire_bytes = 0;  // that a rank sends; between nodes its share of what its node sends
  double own_bytes = 0;   // a rank's part of the message
};

[[nodiscard]] NcclCostKey nccl_cost_key(const NcclTuning& tuning, const NcclFacts& facts,
                                        Collective collective, const NcclChoice& choice);
[[nodiscard]] NcclCostTerms nccl_cost_terms(const NcclFacts& facts, const NcclCostKey& key,
                                            Bytes size);

/// The cost of that key, or the nearest: of another protocol first, then of another collective,
/// architecture, version and algorithm. Never of another span of nodes, nor of grouped sends for
/// what is not. nullptr if there is none.
[[nodiscard]] const NcclCost* find_nccl_cost(const std::vector<NcclCost>& costs,
                                             const NcclCostKey& key);

[[nodiscard]] Duration nccl_cost_time(const NcclCost& cost, const NcclCostTerms& terms);

/// What a planned collective takes before its bytes are on the links: by the tuning's measured
/// costs, else NCCL's own base latency (none of grouped sends).
[[nodiscard]] Duration nccl_overhead(const NcclTuning& tuning, const NcclFacts& facts,
                                     Collective collective, Bytes size, const NcclChoice& choice);

}  // namespace lockstep
