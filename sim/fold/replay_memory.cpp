#include "sim/fold/replay_memory.hpp"

#include <algorithm>
#include <vector>

#include "sim/fold/block_symmetry.hpp"
#include "sim/fold/step_counts.hpp"

namespace lockstep {
namespace {

using namespace fold;

/// Measured for direct all-reduces of 1,024 to 4,096 ranks on a star, whose routes have 2 links:
/// 215 bytes a pair where symmetry is looked for, 670 a message that is in flight.
constexpr std::uint64_t kPerPair = 160;
constexpr std::uint64_t kPerPairAndLink = 28;
constexpr std::uint64_t kPerMessage = 600;
constexpr std::uint64_t kPerMessageAndLink = 35;
/// Fewer pairs than this take no memory to speak of.
constexpr std::uint64_t kHarmless = std::uint64_t{1} << 21U;
/// Counting stops here.
constexpr std::uint64_t kEnough = std::uint64_t{1} << 28U;

struct Count {
  std::uint64_t pairs = 0;
  std::uint64_t posted = 0;
};

class Counter {
 public:
  explicit Counter(const CollectiveCall& call)
      : schedule_{*call.schedule},
        counts_{schedule_.phases()},
        seen_(static_cast<std::size_t>(schedule_.ranks()), -1) {}

  /// Of one rank: its peers, and the most messages that its lanes post in a step each.
  Count of(int rank) {
    Count out;
    for (int lane = 0; lane < schedule_.lanes(); ++lane) {
      std::uint64_t most = 0;
      counts_.visit(first_step(schedule_, rank, lane), schedule_.steps(rank, lane),
                    [&](std::int64_t index, std::int64_t) {
                      step_.clear();
                      schedule_.step(rank, lane, index, step_);
                      most = std::max<std::uint64_t>(most, step_.sends.size());
                      for (const Send& send : step_.sends) out.pairs += is_new(rank, send.peer);
                    });
      out.posted += most;
    }
    return out;
  }

  /// Of the first `ranks` ranks.
  Count of_all(int ranks) {
    Count sum;
    for (int rank = 0; rank < ranks; ++rank) {
      const Count own = of(rank);
      sum.pairs += own.pairs;
      sum.posted += own.posted;
      if (std::max(sum.pairs, sum.posted) < kEnough || rank + 1 == ranks) continue;
      const auto counted = static_cast<std::uint64_t>(rank + 1);
      const auto all = static_cast<std::uint64_t>(ranks);
      return {sum.pairs / counted * all, sum.posted / counted * all};
    }
    return sum;
  }

  /// Whether it would not come to much if all of them did as the busiest of a few.
  bool is_harmless(int ranks) {
    constexpr int kLooked = 64;
    std::uint64_t most = 0;
    for (int i = 0; i < std::min(kLooked, ranks); ++i) {
      const int rank = static_cast<int>(std::int64_t{i} * (ranks - 1) / kLooked);
      const Count own = of(rank);
      most = std::max({most, own.pairs, own.posted});
    }
    return most * static_cast<std::uint64_t>(ranks) < kHarmless;
  }

 private:
  std::uint64_t is_new(int rank, int peer) {
    int& seen = seen_[static_cast<std::size_t>(peer)];
    if (seen == rank) return 0;
    seen = rank;
    return 1;
  }

  const Schedule& schedule_;
  StepCounts counts_;
  std::vector<int> seen_;  // per rank: who sent to it last
  Step step_;
};

/// Links on the way from the first member to the one in the middle.
std::uint64_t links_on_a_way(const Network& network, const CollectiveCall& call) {
  Route route;
  const EndpointId to = call.members[call.members.size() / 2];
  if (!network.router->outline(call.members.front(), to, route)) return 0;
  return route.hops.size();
}

}  // namespace

ReplayMemory replay_memory(const Network& network, const Workload& workload, NetworkModel model,
                           const FoldOptions& options) {
  ReplayMemory out;
  const bool may_fold = options.fold && model != NetworkModel::queue;
  std::uint64_t links = 0;
  for (const CollectiveCall& call : workload.calls) {
    const auto n = static_cast<std::uint64_t>(call.members.size());
    if (call.takes || n < 2 || n * n < kHarmless) continue;
    std::optional<BlockSymmetry> symmetry;
    if (may_fold && options.blocks) symmetry = BlockSymmetry::find(network, workload);
    const int ranks = symmetry ? symmetry->moves().block : call.schedule->ranks();
    Counter counter{call};
    if (counter.is_harmless(ranks)) continue;
    const Count count = counter.of_all(ranks);
    out.pairs += count.pairs;
    out.posted += count.posted;
    links = std::max(links, links_on_a_way(network, call));
  }
  const bool folds = may_fold && out.pairs <= options.most_relations;
  const std::uint64_t bytes = folds ? out.pairs * (kPerPair + links * kPerPairAndLink)
                                    : out.posted * (kPerMessage + links * kPerMessageAndLink);
  out.bytes = Bytes{static_cast<std::int64_t>(std::min<std::uint64_t>(bytes, INT64_MAX))};
  return out;
}

}  // namespace lockstep
