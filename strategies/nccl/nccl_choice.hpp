#pragma once

#include <optional>
#include <string>

#include "sim/schedule/contract.hpp"
#include "strategies/nccl/facts.hpp"
#include "strategies/nccl/tuning.hpp"
#include "strategies/nccl/tuning_data.hpp"

namespace lockstep {

/// NCCL's choice as an algorithm spec of Lockstep.
struct NcclChoice {
  std::string spec;                              // algorithm spec, such as `ring:channels=8`
  NcclProtocol protocol = NcclProtocol::simple;  // names a file of configs/protocols
  int channels = 1;  // NCCL's; the spec only counts those on different links
  std::optional<NcclAlgorithm> algorithm{};  // none: grouped sends and receives
};

/// Converts one of nccl_estimates().
[[nodiscard]] NcclChoice nccl_choice_of(const NcclTuning& tuning, const NcclFacts& facts,
                                        Collective collective, Bytes size,
                                        const NcclEstimate& chosen);

/// NCCL's choice as a spec; grouped sends and receives for collectives without a choice, and a
/// schedule without messages for one rank. Empty if `filters` exclude everything, and for
/// collectives that NCCL lacks (barrier).
[[nodiscard]] std::optional<NcclChoice> nccl_choice(const NcclTuning& tuning,
                                                    const NcclFacts& facts, Collective collective,
                                                    Bytes size, const NcclFilters& filters = {});

}  // namespace lockstep
