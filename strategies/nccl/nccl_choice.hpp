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
  std::string spec;                              // of an algorithm, as in `ring:channels=8`
  NcclProtocol protocol = NcclProtocol::simple;  // configs/protocols has a file of this name
  int channels = 1;  // of NCCL's; the spec has only those that take different links
  std::optional<NcclAlgorithm> algorithm{};  // none: grouped sends and receives
};

/// The choice of one of nccl_estimates().
[[nodiscard]] NcclChoice nccl_choice_of(const NcclTuning& tuning, const NcclFacts& facts,
                                        Collective collective, Bytes size,
                                        const NcclEstimate& chosen);

/// What NCCL would do: its choice as a spec, or grouped sends and receives for collectives that
/// it does not choose for. Empty where `filters` leave nothing, and for collectives that NCCL does
/// not have (barrier).
[[nodiscard]] std::optional<NcclChoice> nccl_choice(const NcclTuning& tuning,
                                                    const NcclFacts& facts, Collective collective,
                                                    Bytes size, const NcclFilters& filters = {});

}  // namespace lockstep
