#pragma once

#include <string>

#include "strategies/nccl/nccl_case.hpp"
#include "strategies/nccl/nccl_filter.hpp"

namespace lockstep {

/// Whether NCCL models the collective with this algorithm and protocol.
[[nodiscard]] bool nccl_models(const NcclCase& one, NcclAlgorithm algorithm, NcclProtocol protocol);

/// Why NCCL would not use it here; empty if it would.
[[nodiscard]] std::string nccl_refusal(const NcclCase& one, const NcclFilter& choice,
                                       NcclAlgorithm algorithm, NcclProtocol protocol);

}  // namespace lockstep
