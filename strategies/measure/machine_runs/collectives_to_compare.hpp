#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/execute/command_graph/command_graph.hpp"
#include "sim/schedule/contract.hpp"

namespace lockstep {

/// A collective of ranks that share a device or are distributed over several.
struct CollectiveToCompare {
  Collective collective = Collective::all_reduce;
  std::string algorithm{};
  int ranks = 2;
  std::int64_t bytes = 0;  // in fp32
};
/// Large and small ones, uneven numbers of ranks. `is_host`: sizes for a CPU. `quick`: only a few.
[[nodiscard]] std::vector<CollectiveToCompare> collectives_to_compare(bool is_host, bool quick);

/// "all_reduce ring, 8 ranks, 96 KiB fp32", with " on 8 GPUs" after the ranks.
[[nodiscard]] std::string text(const CollectiveToCompare& of, int devices);

/// None if the algorithm does not do this.
[[nodiscard]] std::optional<CommandGraph> commands_to_compare(const CollectiveToCompare& of,
                                                              int devices);

}  // namespace lockstep
