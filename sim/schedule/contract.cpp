#include "sim/schedule/contract.hpp"

#include <algorithm>

namespace lockstep {

std::optional<Collective> parse_collective(std::string_view text) {
  const auto* found = std::find(kCollectiveNames.begin(), kCollectiveNames.end(), text);
  if (found == kCollectiveNames.end()) return std::nullopt;
  return static_cast<Collective>(found - kCollectiveNames.begin());
}

bool has_root(Collective collective) {
  return collective == Collective::scatter || collective == Collective::gather ||
         collective == Collective::reduce || collective == Collective::broadcast;
}

bool reduces(Collective collective) {
  return collective == Collective::reduce || collective == Collective::reduce_scatter ||
         collective == Collective::all_reduce;
}

int Contract::owner(std::int64_t block) const {
  return static_cast<int>(block / (blocks / ranks));
}

bool Contract::holds(int rank, std::int64_t block) const {
  switch (collective) {
    case Collective::scatter:
    case Collective::broadcast:
      return rank == root;
    case Collective::gather:
    case Collective::all_gather:
      return owner(block) == rank;
    case Collective::barrier:
      return false;
    default:
      return true;
  }
}

Expected Contract::expected(int rank, std::int64_t block) const {
  const Expected nothing;
  switch (collective) {
    case Collective::send_recv:
      return {false, false, ((rank - distance) % ranks + ranks) % ranks, block};
    case Collective::scatter:
      return owner(block) == rank ? Expected{false, false, root, block} : nothing;
    case Collective::gather:
      return rank == root ? Expected{false, false, owner(block), block} : nothing;
    case Collective::reduce:
      return rank == root ? Expected{false, true, 0, block} : nothing;
    case Collective::broadcast:
      return {false, false, root, block};
    case Collective::all_gather:
      return {false, false, owner(block), block};
    case Collective::reduce_scatter:
      return owner(block) == rank ? Expected{false, true, 0, block} : nothing;
    case Collective::all_reduce:
      return {false, true, 0, block};
    case Collective::all_to_all: {
      const std::int64_t part = blocks / ranks;
      return {false, false, owner(block), rank * part + block % part};
    }
    case Collective::barrier:
      break;
  }
  return nothing;
}

Contract contract_of(Collective collective, const Schedule& schedule, int ranks, int root,
                     int distance) {
  return {collective, ranks, schedule.blocks(), root, distance, schedule.result()};
}

}  // namespace lockstep
