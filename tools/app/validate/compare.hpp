#pragma once

#include "sim/cost/device_model.hpp"
#include "strategies/measure/validation/measured.hpp"
#include "tools/app/validate/validate.hpp"

/// One measured run or table and its simulation. What cannot be modelled comes back
/// with its reason; nothing is thrown for it.
namespace lockstep::app {

[[nodiscard]] ValidateResult compare_run(const MeasuredRun& run, const ValidateRequest& request);
/// Every point of a table is a row; its id is the table's with the point's behind a slash.
[[nodiscard]] ValidateResult compare_collective(const CollectiveTable& table,
                                                const ValidateRequest& request);
[[nodiscard]] ValidateResult compare_device(const DeviceTable& table,
                                            const ValidateRequest& request);

/// What the kernels of a table cost: PyTorch's own where attention is not fused; otherwise of the
/// implementation that the table names; casts to 8 bits are no part of a product that is timed
/// alone. Throws ConfigError, RequestError where there are no such figures.
[[nodiscard]] DeviceModel table_model(const DeviceTable& table, const Device& device,
                                      const Calibration& calibration);
/// The points of a table by that model.
[[nodiscard]] ValidateResult compare_points(const DeviceTable& table, const DeviceModel& model);

/// The problems of an error on one line, without its places.
[[nodiscard]] std::string reason_of(const std::exception& error);

}  // namespace lockstep::app
