#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sim/execute/device_kernels/number_type.hpp"

/// What devices are to do, as plain data: buffers, streams, and commands in the order in which a
/// host issues them. A device runs the commands of a stream one after the other, and those of
/// different streams side by side, but for events: a command may signal one when it is done, and
/// wait for others before it begins. Nothing here knows CUDA.
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

/// Elements next to each other.
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
    copy,       // `to` becomes `from`, both on one device
    peer_copy,  // likewise, from the memory of another device
    add,        // `to` gets `from` added; a kernel
    maximum,    // `to` becomes the larger of both; a kernel
    launch,     // a kernel: see CommandGraph::launches
    mark,       // nothing: only waits and signals
  };
  Kind kind = Kind::mark;
  StreamIndex stream = 0;
  Region to{};
  Region from{};
  /// peer_copy: who sends, where both ends take part in a transfer.
  StreamIndex from_stream = 0;
  std::uint32_t launch = 0;
  /// Commands of other streams that must be done before: what is promised.
  std::vector<CommandId> after{};
  /// Of them, those whose events the stream waits for: the others follow from these.
  std::vector<CommandId> waits{};
  bool signals = false;  // records its event when it is done
};

/// A kernel with what it touches.
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
