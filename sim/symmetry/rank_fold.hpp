#pragma once

#include <optional>

#include "sim/symmetry/fold.hpp"
#include "sim/symmetry/ranks/rank_costs.hpp"

namespace lockstep::fold {

/// What run_rank_recursion() needs.
struct RankFold {
  Relations relations;
  ReceivedPairs received;
  RankCosts costs;
};

/// By the members of block 0, where only starts, endpoints or bandwidths distinguish blocks. Empty
/// if nothing does, with fewer members than FoldOptions::by_rank_from, or if the recursion does not
/// apply.
[[nodiscard]] std::optional<RankFold> find_rank_fold(const Network& network,
                                                     const Workload& workload, NetworkModel model,
                                                     const FoldOptions& options);

/// By all members of `relations`, which are not those of a block. Empty, with `relations` as they
/// were, also where steps are so many that classes are worth looking for first.
[[nodiscard]] std::optional<RankFold> make_rank_fold(Relations& relations, const Network& network,
                                                     const Workload& workload, NetworkModel model,
                                                     const FoldOptions& options);

/// Fills the report's classes: ranks with equal steps, starts, endpoints and rates of links.
void describe_ranks(const RankFold& fold, const Network& network, const Workload& workload,
                    FoldReport& report);

}  // namespace lockstep::fold
