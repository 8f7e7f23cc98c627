#pragma once

#include "strategies/nccl/nccl_case.hpp"

namespace lockstep {

/// Latency in microseconds, without the ring plateau.
[[nodiscard]] double nccl_latency(const NcclCase& one, NcclAlgorithm algorithm,
                                  NcclProtocol protocol);

}  // namespace lockstep
