#include "sim/symmetry/replay_memory.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "sim/base/math.hpp"
#include "sim/reuse/schedule_step_counts.hpp"
#include "sim/symmetry/partition/block_symmetry.hpp"
#include "sim/symmetry/plain/plain_plan.hpp"
#include "sim/symmetry/rank_fold.hpp"

namespace lockstep {
namespace {

using namespace fold;

/// Measured for direct all-reduces of 1,024 to 4,096 ranks on a star, whose routes have 2 links:
/// 215 bytes a pair where symmetry is looked for, 670 a message that is in flight.
constexpr std::uint64_t kPerPair = 160;
constexpr std::uint64_t kPerPairAndLink = 28;
constexpr std::uint64_t kPerMessage = 600;
constexpr std::uint64_t kPerMessageAndLink = 35;
/// Of a plan of plain steps: a connection with its lanes, its users of links and its shares.
constexpr std::uint64_t kPerPlanned = 180;
/// Of the recursion over all ranks: of a ring, whose rounds are joined to rows.
constexpr std::uint64_t kPerRank = 300;
/// Fewer pairs than this take no memory to speak of.
constexpr std::uint64_t kHarmless = std::uint64_t{1} << 21U;
/// Counting stops here.
constexpr std::uint64_t kEnough = std::uint64_t{1} << 28U;

struct Count {
  std::uint64_t pairs = 0;
  std::uint64_t posted = 0;
  std::uint64_t ends = 0;  // the most of a step
};

class Counter {
 public:
  explicit Counter(const CollectiveCall& call)
      : schedule_{*call.schedule},
        sizes_{schedule_},
        counts_{schedule_.phases()},
        seen_(static_cast<std::size_t>(schedule_.ranks()), -1) {}

  /// Of one rank: its peers, the most messages that its lanes post in a step each, and the most
  /// ends of messages in a step.
  Count of(int rank) {
    Count out;
    for (int lane = 0; lane < schedule_.lanes(); ++lane) {
      std::uint64_t most = 0;
      counts_.visit(first_step(schedule_, rank, lane), schedule_.steps(rank, lane),
                    [&](std::int64_t index, std::int64_t) {
                      step_.clear();
                      sizes_.read(rank, lane, index, step_);
                      most = std::max<std::uint64_t>(most, step_.sends.size());
                      out.ends = std::max<std::uint64_t>(
                          out.ends, step_.sends.size() + step_.receives.size());
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
      sum.ends = std::max(sum.ends, own.ends);
      if (std::max(sum.pairs, sum.posted) < kEnough || rank + 1 == ranks) continue;
      const auto counted = static_cast<std::uint64_t>(rank) + 1;
      const auto all = static_cast<std::uint64_t>(ranks);
      return {sum.pairs / counted * all, sum.posted / counted * all, sum.ends};
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
  StepSizes sizes_;
  ScheduleStepCounts counts_;
  std::vector<int> seen_;  // per rank: who sent to it last
  ScheduleStep step_;
};

std::uint64_t links_between(const Network& network, EndpointId from, EndpointId to) {
  Route route;
  if (!network.router->outline(from, to, route)) return 0;
  return route.hops.size();
}

/// Links on the way from the first member to the one in the middle.
std::uint64_t links_on_a_way(const Network& network, const CollectiveCall& call) {
  return links_between(network, call.members.front(), call.members[call.members.size() / 2]);
}

/// Of the first message that a stream sends.
std::uint64_t links_of_a_send(const Network& network, const Workload& workload) {
  for (const Stream& stream : workload.streams)
    for (const Activity& operation : stream.all())
      if (operation.kind == Activity::Kind::send)
        return links_between(network, stream.endpoint, stream.end(operation).peer);
  return 0;
}

bool may_be_large(const Workload& workload) {
  return std::any_of(workload.calls.begin(), workload.calls.end(), [](const CollectiveCall& call) {
    const auto n = static_cast<std::uint64_t>(call.members.size());
    return n * n >= kHarmless;
  });
}

Bytes bytes_of(std::uint64_t bytes) {
  return Bytes{static_cast<std::int64_t>(std::min<std::uint64_t>(bytes, INT64_MAX))};
}

std::uint64_t in_flight(std::uint64_t messages, std::uint64_t links) {
  return messages * (kPerMessage + links * kPerMessageAndLink);
}

/// Operations of streams by level: one more than the highest level that they wait for.
class Levels {
 public:
  explicit Levels(const Workload& workload) : workload_{workload} {
    first_.push_back(0);
    for (const Stream& stream : workload.streams)
      first_.push_back(first_.back() + stream.all().size());
    levels_.assign(first_.back(), 0);
    waits_.assign(first_.back(), 0);
    find_dependents();
  }

  /// Calls visit(stream, operation, level) for each that can be reached.
  template <typename Visit>
  void visit(Visit&& visit) {
    std::vector<ActivityRef> ready;
    for (std::uint32_t s = 0; s < workload_.streams.size(); ++s)
      for (std::uint32_t i = 0; i < workload_.streams[s].all().size(); ++i)
        if (waits_[place({s, i})] == 0) ready.push_back({s, i});
    while (!ready.empty()) {
      const ActivityRef at = ready.back();
      ready.pop_back();
      const std::uint32_t level = levels_[place(at)];
      const Stream& stream = workload_.streams[at.stream];
      visit(stream, stream.all()[at.index], level);
      const auto end_one = [&](ActivityRef after) {
        std::uint32_t& reached = levels_[place(after)];
        reached = std::max(reached, level + 1);
        if (--waits_[place(after)] == 0) ready.push_back(after);
      };
      if (at.index + 1 < stream.all().size()) end_one({at.stream, at.index + 1});
      const std::size_t from = place(at);
      for (std::size_t i = first_dependent_[from]; i < first_dependent_[from + 1]; ++i)
        end_one(dependents_[i]);
    }
  }

 private:
  [[nodiscard]] std::size_t place(ActivityRef ref) const { return first_[ref.stream] + ref.index; }

  template <typename Visit>  // visit(operation, what it waits for)
  void each_dependency(Visit&& visit) const {
    for (std::uint32_t s = 0; s < workload_.streams.size(); ++s) {
      const Stream& stream = workload_.streams[s];
      for (std::uint32_t i = 0; i < stream.all().size(); ++i)
        for (const ActivityRef after : stream.all()[i].after)
          visit(ActivityRef{s, i}, stream.named(after));
    }
  }

  void find_dependents() {
    for (std::uint32_t s = 0; s < workload_.streams.size(); ++s)
      for (std::uint32_t i = 1; i < workload_.streams[s].all().size(); ++i) ++waits_[place({s, i})];
    first_dependent_.assign(first_.back() + 1, 0);
    each_dependency([&](ActivityRef operation, ActivityRef after) {
      ++waits_[place(operation)];
      ++first_dependent_[place(after) + 1];
    });
    for (std::size_t i = 1; i < first_dependent_.size(); ++i)
      first_dependent_[i] += first_dependent_[i - 1];
    dependents_.resize(first_dependent_.back());
    std::vector<std::size_t> next = first_dependent_;
    each_dependency([&](ActivityRef operation, ActivityRef after) {
      dependents_[next[place(after)]++] = operation;
    });
  }

  const Workload& workload_;
  std::vector<std::size_t> first_;            // per stream: place of its first operation
  std::vector<std::uint32_t> levels_;         // per operation
  std::vector<std::uint32_t> waits_;          // per operation: for so many
  std::vector<std::size_t> first_dependent_;  // per operation, and the end of the last one
  std::vector<ActivityRef> dependents_;
};

/// What streams have in flight, level by level.
class StreamCounter {
 public:
  explicit StreamCounter(const Workload& workload) : workload_{workload} {}

  /// The level with the most messages; nothing where all levels together come to little.
  Count most() {
    if (!may_be_large()) return {};
    std::vector<Count> levels;
    Levels{workload_}.visit(
        [&](const Stream& stream, const Activity& operation, std::size_t level) {
          if (levels.size() <= level) levels.resize(level + 1);
          const Count own = of(stream, operation);
          levels[level].pairs += own.pairs;
          levels[level].posted += own.posted;
        });
    return levels.empty() ? Count{} : *std::ranges::max_element(levels, {}, &Count::posted);
  }

 private:
  [[nodiscard]] bool may_be_large() {
    std::uint64_t posted = 0;
    for (const Stream& stream : workload_.streams)
      for (const Activity& operation : stream.all()) posted += of(stream, operation).posted;
    return posted >= kHarmless;
  }

  /// Members of a call count alike.
  Count of(const Stream& stream, const Activity& operation) {
    if (operation.kind == Activity::Kind::send) return {1, 1, 1};
    if (operation.kind != Activity::Kind::collective) return {};
    const CollectiveCall& call = workload_.calls[stream.member_slot(operation).call];
    if (call.takes) return {};
    const auto [found, is_new] = known_.try_emplace(call.schedule.get());
    if (is_new) found->second = of_member(call);
    return found->second;
  }

  static Count of_member(const CollectiveCall& call) {
    Counter counter{call};
    const int ranks = call.schedule->ranks();
    if (ranks < 2) return {};
    const Count all = counter.of_all(ranks);
    const auto members = static_cast<std::uint64_t>(ranks);
    return {ceil_div(all.pairs, members), ceil_div(all.posted, members), all.ends};
  }

  const Workload& workload_;
  std::map<const Schedule*, Count> known_;  // of one member
};

}  // namespace

ReplayMemory replay_memory(const Network& network, const Workload& workload, NetworkModel model,
                           const FoldOptions& options) {
  const bool may_fold = options.fold && model != NetworkModel::queue;
  const auto by_rank = may_fold && may_be_large(workload)
                           ? find_rank_fold(network, workload, model, options)
                           : std::nullopt;
  return by_rank ? memory_by_rank(*by_rank, workload)
                 : memory_not_by_rank(network, workload, model, options);
}

ReplayMemory memory_by_rank(const fold::RankFold& fold, const Workload& workload) {
  ReplayMemory out;
  out.pairs = fold.relations.pairs.size();
  out.bytes = bytes_of(workload.calls.front().members.size() * kPerRank);
  return out;
}

ReplayMemory memory_not_by_rank(const Network& network, const Workload& workload,
                                NetworkModel model, const FoldOptions& options) {
  ReplayMemory out;
  const bool may_fold = options.fold && model != NetworkModel::queue;
  bool may_plan = options.plain && !options.step_ends && model == NetworkModel::fluid &&
                  workload.calls.size() == 1;
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
    may_plan = may_plan && count.ends <= fold::PlainPlan::kMostEnds;
    links = std::max(links, links_on_a_way(network, call));
  }
  // Where no ranks are equivalent, a plan has all pairs.
  const bool folds = may_fold && out.pairs <= options.most_relations;
  const std::uint64_t per_pair = kPerPair + links * kPerPairAndLink + (may_plan ? kPerPlanned : 0);
  out.bytes = bytes_of(folds ? out.pairs * per_pair : in_flight(out.posted, links));
  return out;
}

ReplayMemory stream_memory(const Network& network, const Workload& workload) {
  const Count most = StreamCounter{workload}.most();
  if (most.posted < kHarmless) return {};
  std::uint64_t links = links_of_a_send(network, workload);
  for (const CollectiveCall& call : workload.calls)
    if (call.members.size() > 1) links = std::max(links, links_on_a_way(network, call));
  const std::uint64_t ends = network.endpoints.size();
  return {std::min(most.pairs, ends * (ends - 1)), most.posted,
          bytes_of(in_flight(most.posted, links))};
}

}  // namespace lockstep
