#pragma once

#include <vector>

#include "strategies/measure/machine_runs/measure_machine.hpp"

namespace lockstep {

/// Measures links between GPUs: every pair alone by copies and by NCCL send and receive, both
/// directions, all GPUs at once, and NCCL's collectives. Empty with one GPU. Throws DeviceError.
[[nodiscard]] std::vector<MachineMeasurement> measure_links(Backend& backend,
                                                            const MeasureOptions& options);

}  // namespace lockstep
