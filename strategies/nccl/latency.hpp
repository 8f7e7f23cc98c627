#pragma once

#include "strategies/nccl/case.hpp"

namespace lockstep {

/// Microseconds, without the ring's plateau.
[[nodiscard]] double nccl_latency(const NcclCase& one, NcclAlgorithm algorithm,
                                  NcclProtocol protocol);

}  // namespace lockstep
