#pragma once

#include "sim/cost/device_model.hpp"
#include "strategies/measure/validation/measured.hpp"
#include "tools/app/validate/validate.hpp"

/// Simulates one measured run or table. Does not throw for what cannot be modeled but returns it
/// with the reason.
namespace lockstep::app {

[[nodiscard]] ValidateResult compare_run(const MeasuredRun& run, const ValidateRequest& request);
/// One row per point of the table, with id TABLE/POINT.
[[nodiscard]] ValidateResult compare_collective(const CollectiveTable& table,
                                                const ValidateRequest& request);
[[nodiscard]] ValidateResult compare_device(const DeviceTable& table,
                                            const ValidateRequest& request);

/// The device model for a table's kernels: PyTorch's kernels for unfused attention, otherwise the
/// implementation that the table names; without fp8 casts, since GEMMs are timed alone. Throws
/// ConfigError, RequestError if there are no such parameters.
[[nodiscard]] DeviceModel table_model(const DeviceTable& table, const Device& device,
                                      const Calibration& calibration);
/// Simulates the points of a table with that model.
[[nodiscard]] ValidateResult compare_points(const DeviceTable& table, const DeviceModel& model);

/// The problems of an error, without positions in files.
[[nodiscard]] std::vector<RequestProblem> problems_of(const std::exception& error);
/// A row left out for an error.
[[nodiscard]] UnmodeledRow unmodeled(std::string id, std::string group,
                                     const std::exception& error);

}  // namespace lockstep::app
