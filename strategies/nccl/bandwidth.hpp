#pragma once

#include "strategies/nccl/case.hpp"

namespace lockstep {

/// GB/s of the message, without the corrections by size; 0 or no number where the algorithm does
/// not run.
[[nodiscard]] double nccl_bandwidth(const NcclCase& one, NcclAlgorithm algorithm,
                                    NcclProtocol protocol);

}  // namespace lockstep
