#pragma once

#include <cstdint>
#include <optional>

#include "sim/schedule/contract.hpp"
#include "strategies/interop/msccl/msccl_program.hpp"

namespace lockstep {

/// Maps an MSCCL program's buffers to a schedule's: a chunk is a block, named by its position in
/// the whole message (sim/schedule/contract.hpp). In-place programs share memory between input and
/// output: the input of an all-gather is the rank's own part of the output, the output of a
/// reduce-scatter the rank's own part of the input.
class MscclLayout {
 public:
  /// Reports inconsistent sizes; if `problems` is not empty, the layout must not be used.
  MscclLayout(const MscclProgram& program, Problems& problems);

  [[nodiscard]] std::optional<Collective> collective() const { return collective_; }
  [[nodiscard]] bool in_place() const { return in_place_; }
  /// Blocks of the whole message.
  [[nodiscard]] std::int64_t blocks() const { return blocks_; }
  [[nodiscard]] Buffer result() const { return in_place_ ? Buffer::data : Buffer::output; }

  /// Chunks of a buffer of this GPU.
  [[nodiscard]] std::int64_t size(const MscclGpu& gpu, MscclBuffer buffer) const;
  [[nodiscard]] Chunk place(const MscclGpu& gpu, MscclOperand operand, std::int64_t count) const;

 private:
  void find_blocks(const MscclProgram& program, Problems& problems);
  void find_place(const MscclProgram& program, Problems& problems);
  void check_sizes(const MscclGpu& gpu, Problems& problems) const;
  /// Chunks of a rank's input or output by the collective's contract.
  [[nodiscard]] std::int64_t usual_size(MscclBuffer buffer) const;

  std::optional<Collective> collective_;
  bool in_place_ = false;
  std::int64_t blocks_ = 1;
  std::int64_t part_ = 1;  // blocks per rank, if the collective has parts
};

}  // namespace lockstep
