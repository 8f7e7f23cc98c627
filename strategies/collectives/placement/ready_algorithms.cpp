#include "strategies/collectives/placement/ready_algorithms.hpp"

#include <utility>

#include "strategies/collectives/registry/registry.hpp"
#include "strategies/collectives/sizing.hpp"

namespace lockstep {
namespace {

[[nodiscard]] std::vector<AlgorithmSpec> variants(const CollectiveAlgorithm& row) {
  std::vector<AlgorithmSpec> out{{&row, {}}};
  if (find_parameter(row, "channels") == nullptr) return out;
  for (const std::int64_t channels : {2, 4, 8, 16})
    out.push_back({&row, {{"channels", ArgumentValue{channels}}}});
  return out;
}

/// Switches of the network that reduce (SHARP needs InfiniBand switches of that kind, and a
/// license) and further hosts are there only for who asks for them.
[[nodiscard]] bool at_hand(AuxiliaryRanks auxiliary_ranks) {
  return auxiliary_ranks == AuxiliaryRanks::none ||
         auxiliary_ranks == AuxiliaryRanks::node_switches;
}

}  // namespace

std::vector<AlgorithmSpec> ready_algorithms(const PlacedCommunicator& placed, Collective collective,
                                            int root, std::int64_t most_messages) {
  std::vector<AlgorithmSpec> out;
  for (const CollectiveAlgorithm& row : collective_algorithms()) {
    if (row.collective != collective || !at_hand(row.auxiliary_ranks)) continue;
    for (AlgorithmSpec& spec : variants(row)) {
      const AlgorithmInput input = placed.input(spec.arguments, root, 1_MiB);
      if (!validate(row, input).empty()) continue;
      const SchedulePtr schedule = make_schedule(row, input);
      const auto measured = measure(*schedule, most_messages);
      if (!measured || measured->messages > most_messages) continue;
      if (placed.members(row.auxiliary_ranks, schedule->ranks() - input.n).empty()) continue;
      out.push_back(std::move(spec));
    }
  }
  return out;
}

}  // namespace lockstep
