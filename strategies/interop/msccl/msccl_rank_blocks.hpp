#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/schedule/schedule.hpp"
#include "strategies/interop/msccl/msccl_places.hpp"
#include "strategies/interop/msccl/msccl_program.hpp"

namespace lockstep {

/// What one rank of a schedule does, as thread blocks and their steps.
struct MscclRankBlocks {
  using ItemId = std::uint32_t;

  /// A step of the program, and what it waits for in addition to its predecessor.
  struct Item {
    MscclOperation operation = MscclOperation::nop;
    MscclRun source{};
    MscclRun destination{};
    std::vector<ItemId> after{};
    std::uint32_t block = 0;     // whose step it is
    std::uint32_t position = 0;  // among the block's items
  };
  struct Block {
    int send = -1;
    int receive = -1;
    int channel = 0;
    std::int64_t staging = 0;  // chunks
    std::vector<ItemId> items{};
  };

  std::string problem;  // why the rank's work cannot be written; empty where it can
  std::vector<Block> blocks;
  std::vector<Item> items;
  /// Chunks of these kinds of scratch that are used, up to the last one.
  std::int64_t spare_data = 0;
  std::int64_t spare_output = 0;
  std::int64_t deferred = 0;
  /// A block adds for several lanes, in an order that the schedule does not have.
  bool orders_additions = false;
};

/// msccl_export.hpp says how. `width` channels of the program replace each of the
/// schedule's.
[[nodiscard]] MscclRankBlocks msccl_rank_blocks(const Schedule& schedule, const MscclPlaces& places,
                                                int rank, int width);

}  // namespace lockstep
