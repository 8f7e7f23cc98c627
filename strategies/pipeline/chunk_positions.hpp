#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "strategies/layout/parallel_config.hpp"

namespace lockstep {

/// The chain of blocks that is cut into chunks.
struct ChainOfLayers {
  int positions = 0;
  bool first_is_layer = false;          // else it reads the data
  bool last_is_layer = false;           // else it has the loss
  std::optional<int> between_stacks{};  // Block::between_stacks: no layer either
};

/// The range of positions [first, second) of every chunk: as `stages` specifies, else equally, with
/// one layer fewer in the first and last chunk under short_edges. The block between two stacks
/// belongs to the chunk with the layer after it. Of a bidirectional pipeline those of both copies.
[[nodiscard]] std::vector<std::pair<int, int>> chunk_positions(const ChainOfLayers& chain,
                                                               const ParallelConfig& parallel);

}  // namespace lockstep
