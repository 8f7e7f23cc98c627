#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/schedule/contract.hpp"
#include "strategies/nccl/facts.hpp"
#include "strategies/nccl/nccl_filter.hpp"
#include "strategies/nccl/tuning_data.hpp"

/// NCCL's own model of the time of a collective, by which it chooses: latency plus size over
/// bandwidth. Independent of the simulated network, on which the chosen schedule is then replayed.
/// Source: NCCL 2.30.7 src/graph/tuning.cc and src/enqueue.cc.
namespace lockstep {

struct NcclEstimate {
  NcclAlgorithm algorithm = NcclAlgorithm::ring;
  NcclProtocol protocol = NcclProtocol::simple;
  int channels = 0;  // used by its kernel at this size
  Duration time;     // zero without a model
  bool allowed = false;
  std::string why_not;  // empty if permitted
};

/// Every algorithm with every protocol, in NCCL's order. `size`: the whole message by the
/// nccl-tests convention (all-gather and reduce-scatter: all ranks' parts). Empty for collectives
/// without a choice and for a single rank.
[[nodiscard]] std::vector<NcclEstimate> nccl_estimates(const NcclTuning& tuning,
                                                       const NcclFacts& facts,
                                                       Collective collective, Bytes size,
                                                       const NcclFilters& filters = {});

/// The fastest permitted estimate, the first on ties. Empty if there is none.
[[nodiscard]] std::optional<NcclEstimate> nccl_pick(const NcclTuning& tuning,
                                                    const NcclFacts& facts, Collective collective,
                                                    Bytes size, const NcclFilters& filters = {});

}  // namespace lockstep
