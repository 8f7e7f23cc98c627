#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/error.hpp"
#include "sim/execute/command_graph/command_graph.hpp"
#include "sim/schedule/contract.hpp"

/// Executors of command graphs: the host's CPU and memory, or GPUs.
namespace lockstep {

/// A failed device operation, with its purpose ("allocating 12 GiB for rank 3 data: out of
/// memory").
class DeviceError : public Error {
 public:
  explicit DeviceError(const std::string& message) : Error{ErrorCode::negative_result, message} {}
};
/// The device does not exist: no GPU, no driver, or not built in.
class NoDevice : public DeviceError {
 public:
  using DeviceError::DeviceError;
};

/// A command graph with its buffers on the device, initially NaN.
class LoadedCommandGraph {
 public:
  LoadedCommandGraph() = default;
  LoadedCommandGraph(const LoadedCommandGraph&) = delete;
  LoadedCommandGraph& operator=(const LoadedCommandGraph&) = delete;
  virtual ~LoadedCommandGraph() = default;

  /// Values are rounded to the buffer's type.
  virtual void write(Region where, std::span<const double> values) = 0;
  [[nodiscard]] virtual std::vector<double> read(Region where) = 0;
  /// Fills a buffer with NaN.
  virtual void poison(BufferId buffer) = 0;
  /// Fills a buffer with nonzero numbers in a range.
  virtual void scatter_numbers(BufferId buffer, const NumberRange& range, std::uint64_t seed) = 0;
  /// Executes all commands once and waits for completion.
  virtual void run() = 0;
  /// Executes all commands `repeats` times after `warmups`; returns the device time of each
  /// repetition in seconds.
  [[nodiscard]] virtual std::vector<double> seconds(int warmups, int repeats) = 0;
};

struct LoadOptions {
  /// Capture small command graphs as a CUDA graph, so that launch time has no influence.
  bool cuda_graph = true;
  /// Transfer between devices by NCCL's send and receive instead of copies.
  bool nccl = false;
};

/// Description of a device: (name, value) in order.
using DeviceFacts = std::vector<std::pair<std::string, std::string>>;

class Backend {
 public:
  Backend() = default;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;
  virtual ~Backend() = default;

  [[nodiscard]] virtual std::string name() const = 0;
  /// Number of GPUs that command graphs may use.
  [[nodiscard]] virtual int count() const = 0;
  [[nodiscard]] virtual DeviceFacts facts() const = 0;
  /// Throws DeviceError, e.g. if the buffers do not fit.
  [[nodiscard]] virtual std::unique_ptr<LoadedCommandGraph> load(
      const CommandGraph& graph, const LoadOptions& options = {}) = 0;
  /// Seconds of copies of `bytes` from host to device, or back; empty if they are the same.
  [[nodiscard]] virtual std::vector<double> host_copy_seconds(std::int64_t bytes, bool to_device,
                                                              int repeats) = 0;
  /// Seconds of a collective of the vendor's library (NCCL) with `bytes` on each of the first
  /// `devices` GPUs; empty if there is no such library or collective.
  [[nodiscard]] virtual std::vector<double> library_seconds(Collective collective,
                                                            std::int64_t bytes, int devices,
                                                            int repeats) = 0;
};

/// The median; 0 for no values.
[[nodiscard]] double median(std::vector<double> values);

}  // namespace lockstep
