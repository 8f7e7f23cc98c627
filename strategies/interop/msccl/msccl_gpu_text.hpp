#pragma once

#include <cstdint>
#include <string>

#include "strategies/interop/msccl/msccl_rank_blocks.hpp"

namespace lockstep {

/// Usage of MSCCL's limits by one GPU's element.
struct MscclGpuCounts {
  std::int64_t blocks = 0;
  std::int64_t most_steps = 0;              // of a tb
  std::int64_t most_blocks_on_channel = 0;  // of a channel
  std::int64_t longest = 0;                 // cnt
  std::int64_t scratch = 0;                 // chunks
};

/// Appends the element `gpu` of one rank. Implied dependencies are omitted, additional ones become
/// steps of type nop.
MscclGpuCounts write_msccl_gpu(const MscclRankBlocks& rank_blocks, const MscclPlaces& places,
                               int rank, std::int64_t scratch, std::string& out);

}  // namespace lockstep
