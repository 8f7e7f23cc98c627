#pragma once

#include <filesystem>
#include <string>

#include "sim/config/reader.hpp"
#include "strategies/calibration/measured_machine.hpp"

namespace lockstep {

/// The machine as a calibration file (strategies/calibration); equal machines give equal bytes.
[[nodiscard]] std::string to_json(const MeasuredMachine& machine);

/// Throws ConfigError with every problem of the file.
[[nodiscard]] MeasuredMachine load_machine(const std::filesystem::path& path);
/// The same from a document in memory.
[[nodiscard]] MeasuredMachine read_machine(const JsonDocument& document);
/// The machine's keys of a calibration file, its name included.
[[nodiscard]] MeasuredMachine read_machine(ObjectReader& in);
/// The key that distinguishes a machine calibration.
inline constexpr Key kMachineKey{"backend", "Where it was measured: on a GPU or on the host"};
[[nodiscard]] bool is_machine(const JsonDocument& document);
/// Kernels of machine calibrations had keys of their own until they were written as in
/// configs/kernels. Throws ConfigError for such a file.
void refuse_earlier_machine(const JsonDocument& document);

}  // namespace lockstep
