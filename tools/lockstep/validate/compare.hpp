#pragma once

#include "strategies/validation/measured.hpp"
#include "tools/lockstep/validate/validate_question.hpp"

/// One measured run or table beside what is simulated for it. What cannot be modelled comes back
/// with its reason; nothing is thrown for it.
namespace lockstep::cli {

[[nodiscard]] ValidateAnswer compare_run(const MeasuredRun& run, const ValidateQuestion& question);
/// Every point of a table is a row; its id is the table's with the point's behind a slash.
[[nodiscard]] ValidateAnswer compare_collective(const CollectiveTable& table);
[[nodiscard]] ValidateAnswer compare_device(const DeviceTable& table);

/// The problems of an error on one line, without its places.
[[nodiscard]] std::string reason_of(const std::exception& error);

}  // namespace lockstep::cli
