#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/schedule/schedule.hpp"
#include "strategies/interop/msccl/msccl_places.hpp"
#include "strategies/interop/msccl/msccl_program.hpp"

namespace lockstep {

/// One rank of a schedule as thread blocks with steps.
struct MscclRankBlocks {
  using ItemId = std::uint32_t;

  /// A step of the program with its dependencies other than its predecessor.
  struct Item {
    MscclOperation operation = MscclOperation::nop;
    MscclRun source{};
    MscclRun destination{};
    std::vector<ItemId> after{};
    std::uint32_t block = 0;     // the thread block of the step
    std::uint32_t position = 0;  // index in the thread block
  };
  struct Block {
    int send = -1;
    int receive = -1;
    int channel = 0;
    std::int64_t staging = 0;  // chunks
    std::vector<ItemId> items{};
  };

  std::string problem;  // why the rank cannot be exported; empty if it can
  std::vector<Block> blocks;
  std::vector<Item> items;
  /// Chunks in use of each kind of scratch.
  std::int64_t spare_data = 0;
  std::int64_t spare_output = 0;
  std::int64_t deferred = 0;
  /// A thread block orders additions that the schedule leaves unordered.
  bool orders_additions = false;
};

/// See msccl_export.hpp. `width`: channels of the program per channel of the schedule.
[[nodiscard]] MscclRankBlocks msccl_rank_blocks(const Schedule& schedule, const MscclPlaces& places,
                                                int rank, int width);

}  // namespace lockstep
