#pragma once

#include <cstdint>
#include <optional>

#include "sim/schedule/contract.hpp"
#include "strategies/interop/msccl/msccl_program.hpp"

namespace lockstep {

/// Where an MSCCL program's buffers lie among a schedule's: a chunk is a block, named by its place
/// in the whole message (sim/schedule/contract.hpp). What runs in place has input and output in
/// the same memory: of an all-gather the input is the rank's own part of the output, of a
/// reduce-scatter the output is the rank's own part of the input.
class MscclLayout {
 public:
  /// Notes what does not fit together; `problems` then has something, and the layout is of no use.
  MscclLayout(const MscclProgram& program, Problems& problems);

  [[nodiscard]] std::optional<Collective> collective() const { return collective_; }
  [[nodiscard]] bool in_place() const { return in_place_; }
  /// Of the whole message.
  [[nodiscard]] std::int64_t blocks() const { return blocks_; }
  [[nodiscard]] Buffer result() const { return in_place_ ? Buffer::data : Buffer::output; }

  /// Chunks that a buffer of this GPU has.
  [[nodiscard]] std::int64_t size(const MscclGpu& gpu, MscclBuffer buffer) const;
  [[nodiscard]] Chunk place(const MscclGpu& gpu, MscclOperand operand, std::int64_t count) const;

 private:
  void find_blocks(const MscclProgram& program, Problems& problems);
  void find_place(const MscclProgram& program, Problems& problems);
  void check_sizes(const MscclGpu& gpu, Problems& problems) const;
  /// Chunks of a rank's input or output as the collective has it.
  [[nodiscard]] std::int64_t usual_size(MscclBuffer buffer) const;

  std::optional<Collective> collective_;
  bool in_place_ = false;
  std::int64_t blocks_ = 1;
  std::int64_t part_ = 1;  // blocks of one rank, where the collective has parts
};

}  // namespace lockstep
