#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sim/execute/device_kernels/number_type.hpp"

/// Work for devices as plain data: buffers, streams, and commands in launch order. Commands of one
/// stream run in order; those of different streams run concurrently, synchronized by events: a
/// command may record one when it completes and wait for others before it starts. Independent of
/// CUDA.
namespace lockstep {

struct KernelLaunch;

using BufferId = std::uint32_t;
using StreamIndex = std::uint32_t;
using CommandId = std::uint32_t;
inline constexpr CommandId kNoCommand = UINT32_MAX;

struct CommandGraphBuffer {
  std::string name;  // "rank 3 data"
  int device = 0;
  NumberType type = NumberType::fp32;
  std::int64_t elements = 0;
};

/// A contiguous range of elements.
struct Region {
  BufferId buffer = 0;
  std::int64_t first = 0;
  std::int64_t count = 0;
};

struct CommandGraphStream {
  std::string name;  // "rank 3 lane 0"
  int device = 0;
};

struct Command {
  enum class Kind : std::uint8_t {
    copy,       // `to` = `from`, on one device
    peer_copy,  // the same, from another device's memory
    add,        // `to` += `from`; a kernel
    maximum,    // `to` = max(`to`, `from`); a kernel
    launch,     // a kernel: see CommandGraph::launches
    mark,       // no work: only waits and records
  };
  Kind kind = Kind::mark;
  StreamIndex stream = 0;
  Region to{};
  Region from{};
  /// peer_copy: stream of the sender, if both ends take part in a transfer.
  StreamIndex from_stream = 0;
  std::uint32_t launch = 0;
  /// Commands of other streams that must have completed: the required order.
  std::vector<CommandId> after{};
  /// The subset whose events are waited for; the rest is implied.
  std::vector<CommandId> waits{};
  bool signals = false;  // records an event when it completes
};

/// A kernel with its operands.
struct CommandGraphLaunch {
  std::vector<Region> reads{};
  std::vector<Region> writes{};
  std::shared_ptr<const KernelLaunch> kernel{};
};

struct CommandGraph {
  int devices = 1;
  std::vector<CommandGraphBuffer> buffers{};
  std::vector<CommandGraphStream> streams{};
  std::vector<Command> commands{};
  std::vector<CommandGraphLaunch> launches{};

  [[nodiscard]] std::int64_t bytes() const {
    std::int64_t out = 0;
    for (const CommandGraphBuffer& buffer : buffers) out += buffer.elements * bytes_of(buffer.type);
    return out;
  }
};

}  // namespace lockstep
