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
#include "sim/program/kernel/kernel.hpp"

/// A measured machine: description, measurements and fitted parameters (configs/calibration).
namespace lockstep {

/// Median time of a kernel, copy, launch or collective.
struct MachineMeasurement {
  enum class Kind : std::uint8_t {
    kernel,      // one operation of a program
    copy,        // `bytes` within one memory
    add,         // `bytes` within one memory, reduced
    launch,      // an empty kernel launched by the host
    graph_node,  // an empty kernel as a node of a CUDA graph
    empty_copy,  // a copy of one element
    together,    // `bytes` copied on each of `to` streams at once
    beside,      // GEMMs during concurrent copies; `ratio` over GEMMs alone
    from_host,   // `bytes` to the device
    to_host,
    peer,     // `bytes` from one GPU to another
    peers,    // several such copies at once: both directions, a ring, all to all
    library,  // one of NCCL's collectives; `bytes` per rank
  };
  Kind kind = Kind::kernel;
  std::string what{};  // kernel: operation; others: type or collective
  Kernel kernel{};     // the shape of a kernel; `kernels` launches per measurement
  int kernels = 1;
  std::int64_t bytes = 0;
  int from = 0;  // peer and both directions: GPUs; others: number of GPUs, or streams, in `to`
  int to = 0;
  double seconds = 0;
  double ratio = 0;
  /// Whether several logical ranks share a GPU: calibrates memory and launches, not links.
  bool shared = false;
};

/// Time over bytes of a memory-bound operation, interpolated linearly in the logarithms of both.
struct MemoryCurve {
  std::vector<std::pair<std::int64_t, double>> points{};  // ascending

  [[nodiscard]] double seconds(std::int64_t bytes) const;
};

/// Copies from the memory of one GPU to that of another, without other traffic.
struct MachineLink {
  int from = 0;
  int to = 0;
  Duration latency{};
  Rate bandwidth = Rate::bytes_per_second(1);
};
/// Links between the GPUs; empty if logical ranks shared one.
struct MachineLinks {
  std::vector<MachineLink> pairs{};  // every ordered pair
  std::optional<Rate> port{};        // total rate at which one GPU sends, or receives
  double both_ways = 1;              // time of a copy with an opposite copy over time alone
};

/// Fitted parameters of the cost model and of shared memory.
struct MachineFit {
  DeviceModel model{};
  /// Delay of a copy or kernel that waits for another stream.
  Duration empty_copy{};
  MemoryCurve copy{};
  /// Time to read or write so many bytes once while several streams copy within as many: the rate
  /// of the caches while these hold them, else of the memory. Empty: not measured.
  MemoryCurve together{};
  /// Of a graph's commands on different streams, from one start to the next.
  Duration issue{};
  std::array<MemoryCurve, 4> add{};  // by NumberType; empty: not measured
  /// Streams are serialized (host) or share the memory bandwidth (GPU).
  bool serial = true;
  MachineLinks links{};
};

/// Residual of a fit: simulated / measured - 1.
struct MachineResidual {
  std::string of{};  // "matmul fp32"
  std::int64_t rows = 0;
  double median = 0;  // of absolute values
  double p90 = 0;
  double bias = 0;  // mean
};

struct MeasuredMachine {
  std::string name{};
  std::string backend{};  // host, cuda
  std::string device{};   // name given by its vendor
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
