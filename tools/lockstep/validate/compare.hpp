#pragma once

#include "sim/cost/device_model.hpp"
#include "strategies/validation/measured.hpp"
#include "tools/lockstep/validate/validate_question.hpp"

/// One measured run or table beside what is simulated for it. What cannot be modelled comes back
/// with its reason; nothing is thrown for it.
namespace lockstep::cli {

[[nodiscard]] ValidateAnswer compare_run(const MeasuredRun& run, const ValidateQuestion& question);
/// Every point of a table is a row; its id is the table's with the point's behind a slash.
[[nodiscard]] ValidateAnswer compare_collective(const CollectiveTable& table,
                                                const ValidateQuestion& question);
[[nodiscard]] ValidateAnswer compare_device(const DeviceTable& table,
                                            const ValidateQuestion& question);

/// What the kernels of a table cost: PyTorch's own where attention is not fused; otherwise of the
/// implementation that the table names; casts to 8 bits are no part of a product that is timed
/// alone. Throws ConfigError, UsageError where there are no such figures.
[[nodiscard]] DeviceModel table_model(const DeviceTable& table, const Device& device,
                                      const Calibration& calibration);
/// The points of a table by that model.
[[nodiscard]] ValidateAnswer compare_points(const DeviceTable& table, const DeviceModel& model);

/// The problems of an error on one line, without its places.
[[nodiscard]] std::string reason_of(const std::exception& error);

}  // namespace lockstep::cli
