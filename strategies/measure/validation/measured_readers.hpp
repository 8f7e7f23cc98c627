#pragma once

#include "sim/config/reader.hpp"
#include "strategies/measure/validation/measured.hpp"

/// Internal to measured_file.hpp: one reader per form.
namespace lockstep {

[[nodiscard]] MeasuredRun read_measured_run(ObjectReader& in);
[[nodiscard]] CollectiveTable read_collective_table(ObjectReader& in);
[[nodiscard]] DeviceTable read_device_table(ObjectReader& in);

/// id, source, assumed and notes.
[[nodiscard]] MeasuredOrigin read_origin(ObjectReader& in);
/// The node summary of a row, validated, as written.
[[nodiscard]] JsonValue read_measured_cluster(ObjectReader& in);

// Quantities in SI units. Invalid ones are reported and replaced by a valid value.
[[nodiscard]] std::optional<Duration> optional_seconds(ObjectReader& in, const Key& key);
[[nodiscard]] std::optional<Rate> optional_bandwidth(ObjectReader& in, const Key& key);
[[nodiscard]] std::optional<FlopRate> optional_flops(ObjectReader& in, const Key& key);

}  // namespace lockstep
