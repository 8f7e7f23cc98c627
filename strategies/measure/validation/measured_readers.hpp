#pragma once

#include "sim/config/reader.hpp"
#include "strategies/measure/validation/measured.hpp"

/// The readers behind measured_file.hpp, one per form.
namespace lockstep {

[[nodiscard]] MeasuredRun read_measured_run(ObjectReader& in);
[[nodiscard]] CollectiveTable read_collective_table(ObjectReader& in);
[[nodiscard]] DeviceTable read_device_table(ObjectReader& in);

/// id, source, assumed and notes.
[[nodiscard]] MeasuredOrigin read_origin(ObjectReader& in);
/// The nodes of a row in a few figures, checked, as they are written.
[[nodiscard]] JsonValue read_measured_cluster(ObjectReader& in);

// Quantities in SI units. Errors: noted, with a harmless value.
[[nodiscard]] std::optional<Duration> optional_seconds(ObjectReader& in, std::string_view key);
[[nodiscard]] std::optional<Rate> optional_bandwidth(ObjectReader& in, std::string_view key);
[[nodiscard]] std::optional<FlopRate> optional_flops(ObjectReader& in, std::string_view key);

}  // namespace lockstep
