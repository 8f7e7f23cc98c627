#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/provenance.hpp"
#include "sim/base/units.hpp"
#include "sim/config/json/json.hpp"
#include "sim/network/network.hpp"

/// Devices: GPUs by their datasheets, and plain hosts (configs/devices/*.json, schema
/// configs/schema/device.schema.json). Every parameter is {"value": ..., "source": ...,
/// "provenance": ...}; a missing source is an error, a missing provenance counts as assumed.
namespace lockstep {

enum class Precision { kFp64, kFp32, kTf32, kFp16, kBf16, kFp8, kFp4, kInt8 };

/// Names as written in files, in the order of Precision.
inline constexpr std::array<std::string_view, 8> kPrecisionNames = {"fp64", "fp32", "tf32", "fp16",
                                                                    "bf16", "fp8",  "fp4",  "int8"};

enum class DeviceKind { kGpu, kHost };

/// Electric power in whole watts, above zero.
class Watts {
 public:
  constexpr explicit Watts(std::int64_t count) : count_{count} {}
  [[nodiscard]] constexpr std::int64_t count() const { return count_; }
  friend constexpr auto operator<=>(Watts, Watts) = default;

 private:
  std::int64_t count_;
};

struct DeviceMemory {
  Bytes size;
  Rate bandwidth;  // reads and writes together
};

/// Direct links to other devices, or to the switch that connects them.
struct PeerLinks {
  std::string kind;  // nvlink or xgmi
  std::int64_t count = 0;
  Rate bandwidth;  // of one link in one direction
};

/// Source of a parameter.
struct FigureSource {
  std::string pointer;  // "/memory/bandwidth"
  std::string source;
  std::optional<Provenance> provenance{};  // none: not specified, which counts as assumed
};

/// Of the parameter at a pointer, the last one read; nullptr: no file has it.
[[nodiscard]] const FigureSource* find_source(const std::vector<FigureSource>& sources,
                                              std::string_view pointer);

/// Number of parameters by Provenance.
[[nodiscard]] std::array<std::int64_t, kProvenances> count_provenance(
    const std::vector<FigureSource>& sources);

struct Device {
  std::string id;    // the file's name without .json
  std::string name;  // the vendor's name
  DeviceKind kind = DeviceKind::kHost;
  std::optional<DeviceMemory> memory;
  /// Peak of dense GEMMs by precision (no sparsity); empty if unsupported. For int8, operations
  /// instead of FLOPs.
  std::array<std::optional<FlopRate>, kPrecisionNames.size()> peaks;
  std::optional<std::int64_t> multiprocessors;  // SMs; compute units on AMD
  std::optional<PeerLinks> peer_links;
  std::optional<std::int64_t> pcie_generation;
  std::optional<Watts> max_power;
  std::optional<double> usd_per_hour;  // price of using it
  Duration message_overhead;           // occupies the sender, per message
  std::optional<Rate> reduce_rate;     // bytes reduced per second; none: reductions take no time
  /// Id of its kernel parameters in configs/kernels; empty: none.
  std::string kernels;
  std::filesystem::path configs;  // parent of the folder of the device's file
  std::vector<FigureSource> sources;

  [[nodiscard]] std::optional<FlopRate> peak(Precision precision) const {
    return peaks.at(static_cast<std::size_t>(precision));
  }
  /// A copied byte is read and written once.
  [[nodiscard]] Endpoint endpoint() const {
    Endpoint out{message_overhead, reduce_rate};
    if (memory) out.copy_rate = memory->bandwidth.scaled(0.5);
    return out;
  }
};

/// Reads a device. Throws ConfigError with every problem of the file.
[[nodiscard]] Device load_device(const std::filesystem::path& path);

/// The same from a document in memory.
[[nodiscard]] Device read_device(const JsonDocument& document, std::string id);

/// configs/schema/device.schema.json.
[[nodiscard]] JsonValue device_schema();

/// Ids of the devices in a folder (names of its .json files), sorted. Throws ConfigError if the
/// folder cannot be read.
[[nodiscard]] std::vector<std::string> device_ids(const std::filesystem::path& folder);

}  // namespace lockstep
