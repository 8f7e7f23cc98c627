#pragma once

#include <optional>
#include <string>

#include "sim/schedule/contract.hpp"
#include "strategies/nccl/facts.hpp"
#include "strategies/nccl/tuning.hpp"
#include "strategies/nccl/tuning_data.hpp"

namespace lockstep {

/// How Lockstep plays what NCCL chose.
struct NcclPlan {
  std::string spec;                              // of an algorithm, as in `ring:channels=8`
  NcclProtocol protocol = NcclProtocol::simple;  // configs/protocols has a file of this name
  int channels = 1;  // of NCCL's; the spec has only those that take different links
  std::optional<NcclAlgorithm> algorithm{};  // none: grouped sends and receives
};

/// The plan of one of nccl_estimates().
[[nodiscard]] NcclPlan nccl_plan_of(const NcclTuning& tuning, const NcclFacts& facts,
                                    Collective collective, Bytes size, const NcclEstimate& chosen);

/// What NCCL would do: the plan of its pick, or grouped sends and receives for collectives that it
/// does not choose for. Empty where `choices` leave nothing, and for collectives that NCCL does not
/// have (barrier).
[[nodiscard]] std::optional<NcclPlan> nccl_plan(const NcclTuning& tuning, const NcclFacts& facts,
                                                Collective collective, Bytes size,
                                                const NcclChoices& choices = {});

}  // namespace lockstep
