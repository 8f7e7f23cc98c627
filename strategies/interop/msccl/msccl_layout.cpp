#include "strategies/interop/msccl/msccl_layout.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "strategies/interop/msccl/msccl_collective.hpp"

namespace lockstep {

namespace {

struct Addressed {
  bool input = false;
  bool output = false;

  void add(MscclBuffer buffer) {
    input = input || buffer == MscclBuffer::input;
    output = output || buffer == MscclBuffer::output;
  }
};

/// Which of input and output the steps really use: a receive, say, names a source and has none.
Addressed addressed_by(const MscclProgram& program) {
  Addressed out;
  for (const MscclGpu& gpu : program.gpus) {
    for (const MscclThreadBlock& block : gpu.blocks) {
      for (const MscclStep& step : block.steps) {
        if (has_source(step.operation)) out.add(step.source.buffer);
        if (has_destination(step.operation)) out.add(step.destination.buffer);
      }
    }
  }
  return out;
}

std::int64_t most_chunks(const MscclProgram& program) {
  std::int64_t most = 0;
  for (const MscclGpu& gpu : program.gpus)
    most = std::max<std::int64_t>({most, gpu.input_chunks, gpu.output_chunks});
  return most;
}

bool has_parts(std::optional<Collective> collective) {
  return begins_with_part(collective) || ends_with_part(collective) ||
         collective == Collective::all_to_all;
}

}  // namespace

MscclLayout::MscclLayout(const MscclProgram& program, Problems& problems)
    : collective_{program.our_collective ? program.our_collective
                                         : msccl_collective(program.collective)} {
  find_blocks(program, problems);
  find_place(program, problems);
  if (problems.any()) return;
  for (const MscclGpu& gpu : program.gpus) check_sizes(gpu, problems);
}

/// nchunksperloop is the largest input or output of any GPU, in chunks (msccl-tools, ir.py).
void MscclLayout::find_blocks(const MscclProgram& program, Problems& problems) {
  blocks_ = program.chunks_per_loop.value_or(0);
  if (!program.chunks_per_loop || !collective_) blocks_ = std::max(blocks_, most_chunks(program));
  if (blocks_ == 0) {
    problems.note(program.at, "",
                  "neither nchunksperloop nor any i_chunks or o_chunks says how many chunks the "
                  "message has");
    return;
  }
  const std::int64_t ranks = std::ssize(program.gpus);
  part_ = blocks_ / ranks;
  if (!has_parts(collective_) || blocks_ % ranks == 0) return;
  problems.note(program.at, "",
                fmt::format("the message of this {} has {} chunks, which {} GPUs cannot share "
                            "equally",
                            program.collective, blocks_, ranks));
}

/// `inplace` and `outofplace` say how the program may be called. Where it may be called both ways
/// it is imported in place if it uses only one of input and output (out of place it would leave the
/// other alone), else out of place, where all that it moves is seen. One attribute alone means the
/// opposite of the other.
void MscclLayout::find_place(const MscclProgram& program, Problems& problems) {
  const bool may_in = program.in_place.value_or(!program.out_of_place.value_or(false));
  const bool may_out = program.out_of_place.value_or(!program.in_place.value_or(false));
  if (!may_in && !may_out) {
    problems.note(program.at, "",
                  "inplace and outofplace are both 0: the program could not be called at all");
  }
  const Addressed addressed = addressed_by(program);
  in_place_ = may_in && (!may_out || !addressed.input || !addressed.output);
}

std::int64_t MscclLayout::usual_size(MscclBuffer buffer) const {
  const bool part =
      buffer == MscclBuffer::input ? begins_with_part(collective_) : ends_with_part(collective_);
  return part ? part_ : blocks_;
}

void MscclLayout::check_sizes(const MscclGpu& gpu, Problems& problems) const {
  if (!collective_) return;
  const auto check = [&](std::string_view name, std::int64_t given, MscclBuffer buffer) {
    const std::int64_t usual = usual_size(buffer);
    if (given == 0 || given == usual) return;
    problems.note(gpu.at, fmt::format("gpu {}", gpu.id),
                  fmt::format("{} is {}; expected {} for this collective and nchunksperloop {}, "
                              "or 0",
                              name, given, usual, blocks_));
  };
  check("i_chunks", gpu.input_chunks, MscclBuffer::input);
  check("o_chunks", gpu.output_chunks, MscclBuffer::output);
}

std::int64_t MscclLayout::size(const MscclGpu& gpu, MscclBuffer buffer) const {
  if (buffer == MscclBuffer::scratch) return gpu.scratch_chunks;
  const std::int64_t given = buffer == MscclBuffer::input ? gpu.input_chunks : gpu.output_chunks;
  // In place, the other buffer's size determines this one's.
  return given == 0 && in_place_ ? usual_size(buffer) : given;
}

Chunk MscclLayout::place(const MscclGpu& gpu, MscclOperand operand, std::int64_t count) const {
  if (operand.buffer == MscclBuffer::scratch) return {Buffer::scratch, operand.offset, count};
  const bool input = operand.buffer == MscclBuffer::input;
  const bool part = usual_size(operand.buffer) < blocks_;
  const std::int64_t first = (part ? gpu.id * part_ : 0) + operand.offset;
  return {input || in_place_ ? Buffer::data : Buffer::output, first, count};
}

}  // namespace lockstep
