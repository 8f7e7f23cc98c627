#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/cost/device_model.hpp"
#include "sim/execute/device_kernels/number_type.hpp"
#include "sim/program/kernel.hpp"

/// A machine that was measured: what it is, what was measured on it, and the figures that were
/// fitted to that (configs/calibration, schema configs/schema/box.schema.json).
namespace lockstep {

/// What a kernel, a copy, a launch or a collective took: the median of several.
struct MachineMeasurement {
  enum class Kind : std::uint8_t {
    kernel,      // one operation of a program
    copy,        // `bytes` within one memory
    add,         // likewise: a reduction
    launch,      // a kernel that has nothing to do, issued by the host
    graph_node,  // likewise, as part of a graph
    empty_copy,  // a copy of one element
    beside,      // GEMMs while copies run beside them, over GEMMs alone: `ratio`
    from_host,   // `bytes` to the device
    to_host,
    peer,     // `bytes` from one GPU to another
    peers,    // likewise, several at once: both ways, a ring of all, everyone to everyone
    library,  // a collective of NCCL's own; `bytes` on each rank
  };
  Kind kind = Kind::kernel;
  std::string what{};  // of a kernel its operation, of others the type or the collective
  Kernel kernel{};     // of a kernel; its times are of `kernels` launches
  int kernels = 1;
  std::int64_t bytes = 0;
  int from = 0;  // peer, both ways: GPUs; others of several GPUs: how many, in `to`
  int to = 0;
  double seconds = 0;
  double ratio = 0;
  /// Logical ranks that share a GPU: calibrates memory and launches, not links.
  bool shared = false;
};

/// Seconds over bytes of what moves memory; between points as straight lines of the logarithms.
struct MemoryCurve {
  std::vector<std::pair<std::int64_t, double>> points{};  // ascending

  [[nodiscard]] double seconds(std::int64_t bytes) const;
};

/// From the memory of one GPU to that of another, alone.
struct MachineLink {
  int from = 0;
  int to = 0;
  Duration latency{};
  Rate bandwidth = Rate::bytes_per_second(1);
};
/// Between several GPUs; empty where logical ranks shared one.
struct MachineLinks {
  std::vector<MachineLink> pairs{};  // every ordered pair
  std::optional<Rate> port{};        // of all that a GPU sends, or gets, at once
  double both_ways = 1;              // time of a copy while one comes the other way, over alone
};

/// Figures of the cost model, and of memory that logical ranks share.
struct MachineFit {
  DeviceModel model{};
  /// Of a stream, until a copy or kernel that waited for another begins.
  Duration empty_copy{};
  MemoryCurve copy{};
  std::array<MemoryCurve, 4> add{};  // by NumberType; empty: not measured
  /// Whether streams are done one after the other (a host), or share the memory's bandwidth (a
  /// GPU).
  bool serial = true;
  MachineLinks links{};
};

/// How far the fit is from what it was fitted to: simulated / measured - 1.
struct MachineResidual {
  std::string of{};  // "matmul fp32"
  std::int64_t rows = 0;
  double median = 0;  // of the absolute value
  double p90 = 0;
  double bias = 0;  // mean
};

struct MeasuredMachine {
  std::string name{};
  std::string backend{};  // host, cuda
  std::string device{};   // as its maker calls it
  int gpus = 1;
  std::string date{};                                        // "2026-11-22"
  std::vector<std::pair<std::string, std::string>> facts{};  // driver, clocks, power ...
  std::vector<MachineMeasurement> measurements{};
  MachineFit fit{};
  std::vector<MachineResidual> residuals{};
};

[[nodiscard]] std::string to_string(MachineMeasurement::Kind kind);
[[nodiscard]] std::optional<MachineMeasurement::Kind> parse_box_measurement(
    const std::string& text);

}  // namespace lockstep
