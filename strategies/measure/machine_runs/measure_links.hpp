#pragma once

#include <vector>

#include "strategies/measure/machine_runs/measure_machine.hpp"

namespace lockstep {

/// Between several GPUs: every pair alone by copies and by NCCL's send and receive, both ways at
/// once, all GPUs at once, and NCCL's collectives. Nothing with one GPU. Errors: DeviceError.
[[nodiscard]] std::vector<MachineMeasurement> measure_links(Backend& backend,
                                                            const MeasureOptions& options);

}  // namespace lockstep
