#pragma once

#include "strategies/nccl/nccl_case.hpp"

namespace lockstep {

/// Bandwidth in GB/s of the message size, without corrections by size; 0 or NaN if the algorithm
/// cannot run.
[[nodiscard]] double nccl_bandwidth(const NcclCase& one, NcclAlgorithm algorithm,
                                    NcclProtocol protocol);

}  // namespace lockstep
