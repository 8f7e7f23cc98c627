#include "sim/symmetry/fold.hpp"

#include <algorithm>
#include <utility>

#include "sim/engine/event_loop/replay_steps.hpp"
#include "sim/symmetry/branches/branch_replay.hpp"
#include "sim/symmetry/branches/branches.hpp"
#include "sim/symmetry/partition/block_symmetry.hpp"
#include "sim/symmetry/partition/partition.hpp"
#include "sim/symmetry/plain/plain_replay.hpp"
#include "sim/symmetry/quotient/max_plus.hpp"
#include "sim/symmetry/quotient/quotient.hpp"
#include "sim/symmetry/rank_fold.hpp"
#include "sim/symmetry/ranks/rank_recursion.hpp"
#include "sim/symmetry/replay_memory.hpp"
#include "sim/symmetry/report.hpp"

namespace lockstep {
namespace {

using namespace fold;

/// Why a workload is not folded; empty where it may be.
std::string obstacle(const Workload& workload, NetworkModel model, const FoldOptions& options) {
  if (!options.fold) return "not asked for";
  if (model == NetworkModel::queue) return "the queue model distinguishes all messages";
  if (!workload.streams.empty()) return "streams are not folded";
  if (workload.logs_transfers) return "every transfer is to be logged";
  for (const CollectiveCall& call : workload.calls)
    if (call.takes) return "a collective of a given duration is not folded";
  return {};
}

void begin(FoldPhase phase, const FoldOptions& options) {
  if (options.report) options.report(phase, {});
}

OnReplay during_replay(const FoldOptions& options) {
  if (!options.report) return {};
  return [&options](const ReplayProgress& now) { options.report(FoldPhase::replay, now); };
}

std::vector<Bytes> bytes_on_links(const Relations& relations, const Network& network) {
  std::vector<UInt128> carried(relations.links.size(), 0);
  for (std::uint32_t p = 0; p < relations.pairs.size(); ++p)
    for (const Crossing& each : relations.crossings_of(p))
      carried[each.link] += static_cast<UInt128>(relations.pairs[p].bytes) * each.weight;
  for (std::uint32_t link = 0; link < carried.size(); ++link)
    carried[link] *= std::min(relations.shared_by[link], relations.copies());
  std::vector<Bytes> out(network.links.size());
  for (std::size_t i = 0; i < carried.size(); ++i)
    out[relations.links[i]] =
        Bytes{static_cast<std::int64_t>((carried[i] + kWeightUnit / 2) / kWeightUnit)};
  if (relations.bundled)
    for (std::size_t link = 0; link < out.size(); ++link)
      out[link] = out[network.router->stands_for(static_cast<LinkId>(link))];
  if (relations.symmetry) relations.symmetry->spread(out);
  return out;
}

/// Every rank by itself, where no two transfers can limit each other.
std::optional<FoldedReplay> by_rank(const RankFold& fold, const Network& network,
                                    const Workload& workload, bool step_ends) {
  auto played =
      run_rank_recursion(fold.relations, fold.received, fold.costs, network, workload, step_ends);
  if (!played) return std::nullopt;
  FoldedReplay out;
  ReplayResult& result = out.result;
  for (const TimePoint end : played->ends) result.end = std::max(result.end, end);
  result.call_ends.push_back(std::move(played->ends));
  result.transfers = fold.relations.transfers;
  result.link_bytes = bytes_on_links(fold.relations, network);
  FoldReport& report = out.report;
  report.folded = true;
  report.transfers = fold.relations.transfers;
  report.links = fold.relations.all_links();
  report.link_classes = report.links;
  report.simulated_transfers = played->transfers;
  report.rounds = played->rounds;
  report.rounds_skipped = played->skipped;
  report.step_ends = std::move(played->step_ends);
  describe_ranks(fold, network, workload, report);
  return out;
}

class Folding {
 public:
  Folding(const Network& network, const Workload& workload, NetworkModel model,
          const FoldOptions& options)
      : network_{network}, workload_{workload}, model_{model}, options_{options} {}

  /// Empty if the workload deadlocks, which the engine describes better.
  std::optional<FoldedReplay> run(const Relations& relations) {
    const Partition partition = find_partition(relations, network_, model_);
    Quotient quotient = make_quotient(relations, partition, network_, workload_, model_);
    leave_out_slack_links(quotient, model_);
    FoldReport& report = out_.report;
    report.folded = true;
    report.transfers = relations.transfers;
    report.links = relations.all_links();
    count_link_classes(relations, partition);
    std::vector<TimePoint> ends;
    begin(FoldPhase::replay, options_);
    if (!by_max_plus(relations, partition, quotient, ends) &&
        !by_engine(relations, partition, quotient, ends))
      return std::nullopt;
    describe_classes(relations, partition, network_, workload_, report);
    spread(relations, partition, ends);
    return std::move(out_);
  }

 private:
  /// Ends by class of members.
  bool by_max_plus(const Relations& relations, const Partition& partition, const Quotient& quotient,
                   std::vector<TimePoint>& ends) {
    if (!options_.max_plus || quotient.workload.calls.size() != 1) return false;
    if (!nobody_limits(relations, partition, network_, quotient)) return false;
    auto played = run_max_plus(quotient, options_.step_ends);
    if (!played) return false;
    for (const Quotient::MemberSlot& member_slot : quotient.member_slots)
      ends.push_back(played->ends[member_slot.rank]);
    out_.report.simulated_transfers = played->transfers;
    out_.report.rounds = played->rounds;
    out_.report.rounds_skipped = played->skipped;
    if (!played->step_ends.empty()) keep_steps(quotient, {std::move(played->step_ends)});
    return true;
  }

  /// By call and rank of the quotient.
  void keep_steps(const Quotient& quotient, std::vector<std::vector<StepEnds>> ends) {
    if (ends.empty()) return;
    for (const Quotient::MemberSlot& member_slot : quotient.member_slots)
      out_.report.step_ends.push_back(std::move(ends[member_slot.call][member_slot.rank]));
  }

  [[nodiscard]] ReplayResult by_steps(const Quotient& quotient) {
    ReplayedSteps played =
        replay_with_steps(quotient.network, quotient.workload, model_, during_replay(options_));
    if (played.result.unfinished.empty()) keep_steps(quotient, std::move(played.ends));
    return std::move(played.result);
  }

  bool by_branches(const Relations& relations, const Partition& partition, const Quotient& quotient,
                   std::vector<TimePoint>& ends) {
    const Branches branches = find_branches(relations, partition, quotient);
    if (branches.all.empty()) return false;
    auto played = replay_branches(quotient, branches, model_, during_replay(options_));
    if (!played) return false;
    ends = std::move(played->ends);
    out_.report.simulated_transfers = played->transfers;
    out_.report.branches = branches.all.size();
    out_.report.branch_histories = played->histories;
    out_.result.solves = played->solves;
    // Engines of branches are copied and advance at times of their own.
    if (options_.step_ends) (void)by_steps(quotient);
    return true;
  }

  /// Ends by rank of the quotient's only call, which are those of classes of members.
  bool by_plan(const Quotient& quotient, std::vector<TimePoint>& ends) {
    if (!options_.plain || options_.step_ends) return false;
    const auto plan = make_plain_plan(quotient, model_);
    if (!plan) return false;
    const auto played = replay_plain(*plan, during_replay(options_));
    if (!played) return false;
    for (const Quotient::MemberSlot& member_slot : quotient.member_slots)
      ends.push_back(played->ends[member_slot.rank]);
    out_.report.simulated_transfers = played->transfers;
    out_.result.solves = played->solves;
    return true;
  }

  bool by_engine(const Relations& relations, const Partition& partition, const Quotient& quotient,
                 std::vector<TimePoint>& ends) {
    if (options_.branches && !relations.moves && by_branches(relations, partition, quotient, ends))
      return true;
    if (by_plan(quotient, ends)) return true;
    const ReplayResult played = options_.step_ends ? by_steps(quotient)
                                                   : replay(quotient.network, quotient.workload,
                                                            model_, during_replay(options_));
    if (!played.unfinished.empty()) return false;
    for (const Quotient::MemberSlot& member_slot : quotient.member_slots)
      ends.push_back(played.call_ends[member_slot.call][member_slot.rank]);
    out_.report.simulated_transfers = played.transfers;
    out_.result.solves = played.solves;
    return true;
  }

  void count_link_classes(const Relations& relations, const Partition& partition) {
    std::uint64_t classes = partition.first_link.size();
    std::vector<std::uint64_t> widths;
    for (const std::uint32_t p : partition.first_pair) {
      widths.clear();
      for (const Crossing& each : relations.crossings_of(p))
        if (partition.link_class[each.link] == Partition::kNoClass)
          widths.push_back(network_.links[relations.links[each.link]].bandwidth.steps());
      std::sort(widths.begin(), widths.end());
      classes +=
          static_cast<std::uint64_t>(std::unique(widths.begin(), widths.end()) - widths.begin());
    }
    out_.report.link_classes = classes;
  }

  /// The results of the classes, for every member and link.
  void spread(const Relations& relations, const Partition& partition,
              const std::vector<TimePoint>& ends) {
    ReplayResult& result = out_.result;
    result.call_ends.resize(workload_.calls.size());
    for (std::uint32_t copy = 0; copy < relations.copies(); ++copy) {
      for (std::size_t m = 0; m < relations.members.size(); ++m) {
        const TimePoint end = ends[partition.member_class[m]];
        result.call_ends[relations.members[m].call].push_back(end);
        result.end = std::max(result.end, end);
      }
    }
    result.transfers = relations.transfers;
    result.link_bytes = bytes_on_links(relations, network_);
  }

  const Network& network_;
  const Workload& workload_;
  NetworkModel model_;
  const FoldOptions& options_;
  FoldedReplay out_;
};

FoldedReplay unfolded(const Network& network, const Workload& workload, NetworkModel model,
                      const FoldOptions& options, std::string why_not) {
  FoldedReplay out;
  begin(FoldPhase::replay, options);
  out.result = replay(network, workload, model, during_replay(options));
  out.report.why_not = std::move(why_not);
  out.report.transfers = out.report.simulated_transfers = out.result.transfers;
  return out;
}

void tell(const ReplayMemory& memory, const FoldOptions& options) {
  if (options.on_memory) options.on_memory(memory);
}

}  // namespace

std::vector<std::vector<RankRange>> FoldReport::ranges() const {
  std::vector<std::vector<RankRange>> out(classes.size());
  for (std::uint32_t call = 0; call < class_of.size(); ++call) {
    for (std::size_t i = 0; i < class_of[call].size(); ++i) {
      const int rank = static_cast<int>(i);
      std::vector<RankRange>& runs = out[class_of[call][i]];
      const bool follows =
          !runs.empty() && runs.back().call == call && runs.back().last + 1 == rank;
      if (follows) {
        runs.back().last = rank;
      } else {
        runs.push_back({call, rank, rank});
      }
    }
  }
  return out;
}

FoldedReplay replay_folded(const Network& network, const Workload& workload, NetworkModel model,
                           const FoldOptions& options) {
  if (std::string why = obstacle(workload, model, options); !why.empty()) {
    tell(memory_not_by_rank(network, workload, model, options), options);
    return unfolded(network, workload, model, options, std::move(why));
  }
  begin(FoldPhase::equivalence, options);
  if (const auto ranks = find_rank_fold(network, workload, model, options)) {
    tell(memory_by_rank(*ranks, workload), options);
    begin(FoldPhase::replay, options);
    if (auto played = by_rank(*ranks, network, workload, options.step_ends))
      return *std::move(played);
  }
  const ReplayMemory memory = memory_not_by_rank(network, workload, model, options);
  tell(memory, options);
  if (memory.pairs > options.most_relations)
    return unfolded(network, workload, model, options, "too many talk to too many");
  auto relations = find_relations(network, workload, options.most_relations, options.blocks);
  if (!relations) return unfolded(network, workload, model, options, "too many talk to too many");
  if (auto ranks = make_rank_fold(*relations, network, workload, model, options)) {
    if (auto played = by_rank(*ranks, network, workload, options.step_ends))
      return *std::move(played);
    relations = std::move(ranks->relations);
  }
  if (auto folded = Folding{network, workload, model, options}.run(*relations))
    return *std::move(folded);
  return unfolded(network, workload, model, options, "the workload deadlocks");
}

}  // namespace lockstep
