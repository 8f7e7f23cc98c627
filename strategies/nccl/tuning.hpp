#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/schedule/contract.hpp"
#include "strategies/nccl/facts.hpp"
#include "strategies/nccl/nccl_filter.hpp"
#include "strategies/nccl/tuning_data.hpp"

/// NCCL's own model of how long a collective takes, by which it chooses: a latency, and the size
/// over a bandwidth. It says nothing of the simulated network; a replay of the chosen schedule
/// does. Source: NCCL 2.30.7 src/graph/tuning.cc and src/enqueue.cc.
namespace lockstep {

struct NcclEstimate {
  NcclAlgorithm algorithm = NcclAlgorithm::ring;
  NcclProtocol protocol = NcclProtocol::simple;
  int channels = 0;  // that its kernel runs with at this size
  Duration time;     // zero where there is no model of it
  bool allowed = false;
  std::string why_not;  // empty where it is allowed
};

/// Every algorithm with every protocol, in NCCL's order. `size` is the whole message as nccl-tests
/// counts it: of all-gather and reduce-scatter, the parts of all ranks together. Empty for
/// collectives that NCCL does not choose for, and for a rank alone.
[[nodiscard]] std::vector<NcclEstimate> nccl_estimates(const NcclTuning& tuning,
                                                       const NcclFacts& facts,
                                                       Collective collective, Bytes size,
                                                       const NcclFilters& filters = {});

/// The fastest of those that are allowed; of equal ones the first. Empty if there is none.
[[nodiscard]] std::optional<NcclEstimate> nccl_pick(const NcclTuning& tuning,
                                                    const NcclFacts& facts, Collective collective,
                                                    Bytes size, const NcclFilters& filters = {});

}  // namespace lockstep
