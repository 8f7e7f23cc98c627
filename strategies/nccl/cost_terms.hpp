#pragma once

#include <optional>
#include <vector>

#include "strategies/calibration/cost_data.hpp"
#include "strategies/nccl/facts.hpp"
#include "strategies/nccl/nccl_choice.hpp"

namespace lockstep {

struct NcclTuning;

/// Factors of the parameters of an NcclCost.
struct NcclCostTerms {
  double hops = 0;
  double network_hops = 0;
  double wire_bytes = 0;   // sent by a rank; between nodes, its share of what its node sends
  double own_bytes = 0;    // a rank's part of the message
  double loops = 0;        // of NVLS inside a node over its chunks, not rounded
  double transport_s = 0;  // of the messages between nodes that follow each other
};

[[nodiscard]] NcclCostKey nccl_cost_key(const NcclTuning& tuning, const NcclFacts& facts,
                                        Collective collective, const NcclChoice& choice);
[[nodiscard]] NcclCostTerms nccl_cost_terms(const NcclTuning& tuning, const NcclFacts& facts,
                                            const NcclCostKey& key, Bytes size);

/// The cost with this key, or the nearest: first of another protocol, then collective,
/// architecture, version, algorithm. Never of another span of nodes, nor grouped sends for other
/// kinds. nullptr if there is none.
[[nodiscard]] const NcclCost* find_nccl_cost(const std::vector<NcclCost>& costs,
                                             const NcclCostKey& key);

/// How the cost found for a key is known: assumed if it is that of another architecture or kind of
/// algorithm. None if there is none.
[[nodiscard]] std::optional<Provenance> nccl_cost_provenance(const std::vector<NcclCost>& costs,
                                                             const NcclCostKey& key);

/// Of the given cost and what does not depend on it, the transport.
[[nodiscard]] Duration nccl_cost_time(const NcclCost& cost, const NcclCostTerms& terms);

/// Time of a chosen collective before its first byte: the measured costs, else NCCL's base latency
/// (0 for grouped sends).
[[nodiscard]] Duration nccl_overhead(const NcclTuning& tuning, const NcclFacts& facts,
                                     Collective collective, Bytes size, const NcclChoice& choice);

}  // namespace lockstep
