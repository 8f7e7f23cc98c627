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

/// What runs command graphs: this machine's processor and memory, or GPUs.
namespace lockstep {

/// What a device could not do, with what was being done ("allocating 12 GiB for rank 3 data: out of
/// memory").
class DeviceError : public Error {
 public:
  explicit DeviceError(const std::string& message) : Error{ErrorCode::negative_result, message} {}
};
/// There is no such device here: no GPU, no driver, or built without it.
class NoDevice : public DeviceError {
 public:
  using DeviceError::DeviceError;
};

/// A command graph with its buffers on the device, which hold NaN at first.
class LoadedCommandGraph {
 public:
  LoadedCommandGraph() = default;
  LoadedCommandGraph(const LoadedCommandGraph&) = delete;
  LoadedCommandGraph& operator=(const LoadedCommandGraph&) = delete;
  virtual ~LoadedCommandGraph() = default;

  /// Numbers are rounded to the buffer's type.
  virtual void write(Region where, std::span<const double> values) = 0;
  [[nodiscard]] virtual std::vector<double> read(Region where) = 0;
  /// NaN everywhere.
  virtual void poison(BufferId buffer) = 0;
  /// Fills a buffer with numbers of a range, none of them zero.
  virtual void scatter_numbers(BufferId buffer, const NumberRange& range, std::uint64_t seed) = 0;
  /// All commands once; returns when they are done.
  virtual void run() = 0;
  /// All commands, `repeats` times after `warmups` that do not count: the seconds that each of them
  /// took on the device.
  [[nodiscard]] virtual std::vector<double> seconds(int warmups, int repeats) = 0;
};

struct LoadOptions {
  /// Small command graphs become one graph, so that issuing their commands hides nothing.
  bool cuda_graph = true;
  /// Transfers between devices by NCCL's send and receive, not by copies.
  bool nccl = false;
};

/// What a device is, for readers of its measurements: (name, value) in order.
using DeviceFacts = std::vector<std::pair<std::string, std::string>>;

class Backend {
 public:
  Backend() = default;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;
  virtual ~Backend() = default;

  [[nodiscard]] virtual std::string name() const = 0;
  /// GPUs that command graphs may use.
  [[nodiscard]] virtual int count() const = 0;
  [[nodiscard]] virtual DeviceFacts facts() const = 0;
  /// Errors: DeviceError, where the buffers do not fit for one.
  [[nodiscard]] virtual std::unique_ptr<LoadedCommandGraph> load(
      const CommandGraph& graph, const LoadOptions& options = {}) = 0;
  /// Seconds that a copy of `bytes` from the host to the device takes, or back; none where they are
  /// the same.
  [[nodiscard]] virtual std::vector<double> host_copy_seconds(std::int64_t bytes, bool to_device,
                                                              int repeats) = 0;
  /// Seconds that a collective of a library of the device's maker takes (NCCL), with so many bytes
  /// on each of the first `devices` GPUs; none where there is no such library or collective.
  [[nodiscard]] virtual std::vector<double> library_seconds(Collective collective,
                                                            std::int64_t bytes, int devices,
                                                            int repeats) = 0;
};

/// The middle of an odd number of times, or the mean of the two in the middle; 0 of none.
[[nodiscard]] double median(std::vector<double> values);

}  // namespace lockstep
