#include "strategies/step/training_step_simulator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "sim/engine/periodic_replay.hpp"
#include "sim/engine/replay_reusing.hpp"
#include "sim/program/communicator.hpp"
#include "sim/trace/memory/peak_memory.hpp"
#include "strategies/step/lowering/class_partings.hpp"
#include "strategies/step/lowering/coarse_rank_classes.hpp"
#include "strategies/step/lowering/fold_step.hpp"
#include "strategies/step/lowering/lowering.hpp"
#include "strategies/step/repeating_parts.hpp"
#include "strategies/step/replayed_times.hpp"
#include "topologies/graph/nodes.hpp"

namespace lockstep {

namespace {

/// Beyond so many activities and messages all ranks take longer than a user waits.
constexpr double kMostForAllRanks = 6e6;
/// Beyond so many operations with programs and times of their own few machines of users have the
/// memory: 8 to 40 bytes each.
constexpr double kMostOwn = 2.5e8;
/// Classes of more operations, each of which is written down, are not simulated instead of all
/// ranks, which share programs: 40 bytes each, where ranks take 5.
constexpr double kMostOfClasses = 1e8;
/// Beyond so many operations of ranks that share programs, what they call and send to takes more
/// memory than machines of users have: 5 bytes each.
constexpr double kMostShared = 4e9;
/// After this share of a step it is foreseen how many operations will have times of their own;
/// that many times what can be simulated ends it then.
constexpr double kTelling = 0.005;
constexpr double kTooMany = 2;
/// Of a collective: two rounds of a ring, over several channels.
constexpr double kMessagesPerMember = 8;

/// About how much there is to replay of one rank of a role.
[[nodiscard]] double work_of_role(const Program& program, const RoleProgram& role) {
  double work = 0;
  for (const RoleOperation& operation : role.operations) {
    work += 1;
    if (operation.operation->kind != OperationKind::collective) continue;
    work += kMessagesPerMember * program.mesh.size(operation.operation->communication->over);
  }
  return work;
}

/// Of one rank of each role; of all.
struct Work {
  double one_each = 0;
  double all = 0;
};

[[nodiscard]] Work work_of(const Program& program, const std::vector<RoleProgram>& roles) {
  Work out;
  for (std::size_t i = 0; i < roles.size(); ++i) {
    const double work = work_of_role(program, roles[i]);
    out.one_each += work;
    out.all += work * (program.roles[i].host ? 1
                                             : static_cast<double>(program.mesh.ranks()) /
                                                   static_cast<double>(roles.size()));
  }
  return out;
}

[[nodiscard]] std::vector<int> simulated_ranks(const Program& program, Fidelity fidelity) {
  std::vector<int> out;
  if (fidelity == Fidelity::all_ranks) {
    out.resize(static_cast<std::size_t>(program.mesh.ranks()));
    std::iota(out.begin(), out.end(), 0);
  } else {
    for (const Role& role : program.roles) {
      if (!role.host) out.push_back(program.first_rank(role));
    }
  }
  for (int host = 0; host < hosts_of(program); ++host) out.push_back(program.mesh.ranks() + host);
  return out;
}

/// What the first representative communicates.
void add_first(const TrainingStepTimeline& timeline, const ReplayedTimes& times, LinkLoads& loads) {
  const RankTimeline& first = timeline.ranks.front();
  const RoleProgram& role = timeline.roles[first.role];
  for (std::size_t i = 0; i < role.operations.size(); ++i) {
    times.add_loads(first.rank, role, role.operations[i], first.operations.end_of(i), loads);
  }
}

[[noreturn]] void throw_stuck(const ReplayResult& result) {
  std::string text =
      fmt::format("deadlock: {} of the training step never complete:", result.unfinished.size());
  constexpr std::size_t kShown = 10;
  for (std::size_t i = 0; i < std::min(kShown, result.unfinished.size()); ++i) {
    text += "\n  " + result.unfinished[i].text;
  }
  throw ProgramStuck{text};
}

/// One simulation: what is put together on the way to its timeline or outcome.
class Simulation {
 public:
  Simulation(const Program& program, const RolePrograms& roles, const SimulatedCluster& on,
             const CostModel& cost, const SimulationOptions& options, CollectiveChoice& choice)
      : program_{program},
        roles_{roles},
        cluster_{on.cluster()},
        cost_{cost},
        options_{options},
        network_{choice.network()},
        choice_{choice},
        kernels_{program, cost, host()} {
    choice_.begin_report();
    speeds_ = kernels_.with_loads(options.speeds);
    decide();
  }

  SimulatedTrainingStep run(std::shared_ptr<const Program> program) {
    replay_all();
    SimulatedTrainingStep out;
    out.fidelity = fidelity_;
    out.timeline = timeline_of(std::move(program), roles_, ranks_, lowered_, result_.stream_ends);
    result_.stream_ends = {};
    out.timeline.end = result_.end;
    out.algorithms = choice_.report();
    out.transfers = transfers();
    if (fold_) {
      report_classes(out);
      return out;
    }
    if (classes_) {
      report_classes_of_all(out);
      return out;
    }
    if (kinds_) {
      out.timeline.representative_of = kinds_->class_of();
      out.classes = kinds_->describe();
      find_partings(out.timeline, out.classes);
    }
    out.timeline.link_bytes = times_ ? times_->link_bytes() : result_.link_bytes;
    if (options_.link_series) add_links(out);
    return out;
  }

  TrainingStepOutcome outcome() {
    replay_all();
    Bytes most;
    for (const auto& [role, rank] : devices()) most = std::max(most, peak_memory(*role, rank));
    return {result_.end.since_start(), fidelity_, most};
  }

  /// Of the program that `shorter`, this one, is made from.
  std::optional<TrainingStepOutcome> outcome_with_all_periods(const ShortenedProgram& shorter) {
    if (!all_ranks_even_if_longer(shorter)) return std::nullopt;
    lower();
    const auto replayed = replay_periodic(network(), lowered_.workload, options_.network,
                                          repeating_parts(shorter, roles_.all(), ranks_, lowered_),
                                          static_cast<std::int64_t>(shorter.left_out));
    if (!replayed) return std::nullopt;
    result_ = replayed->result;
    if (!result_.unfinished.empty()) return std::nullopt;
    Bytes most;
    for (const auto& [role, rank] : devices()) {
      const auto peak = peak_with_all_periods(shorter, *role, rank, *replayed);
      if (!peak) return std::nullopt;
      most = std::max(most, *peak);
    }
    const auto left_out = static_cast<std::int64_t>(shorter.left_out);
    return TrainingStepOutcome{result_.end.since_start() + replayed->period * left_out, fidelity_,
                               most};
  }

 private:
  [[nodiscard]] std::function<EndpointId(int)> endpoints() const {
    const int ranks = program_.mesh.ranks();
    const int hosts_after = cluster_.ranks() - ranks;
    return [ranks, hosts_after](int rank) {
      return static_cast<EndpointId>(rank < ranks ? rank : rank + hosts_after);
    };
  }

  /// All ranks where that is quick, or nothing else would do; folded where that helps.
  void decide() {
    const Work work = work_of(program_, roles_.all());
    const bool free = options_.fidelity == Fidelity::automatic;
    if (may_fold(work, free)) find_classes();
    if (fold_ && !helps(free)) fold_.reset();
    if (fold_ && too_many_classes(work)) {
      classes_.emplace(Classes{fold_->describe(true), fold_->class_of(), fold_->representatives()});
      fold_.reset();
    }
    // Unfolded, all ranks have the same times; a fidelity never depends on the link loads.
    const bool all_are_quick = !free || work.all <= kMostForAllRanks;
    if (fold_ && options_.link_series && options_.fold != Folding::always && all_are_quick)
      fold_.reset();
    fidelity_ = options_.fidelity;
    if (fidelity_ == Fidelity::automatic) {
      fidelity_ =
          fold_ || classes_ || all_are_quick ? Fidelity::all_ranks : Fidelity::representatives;
    }
    if (!fold_) choice_.begin_report();
    if (fidelity_ == Fidelity::representatives && !speeds_.empty())
      kinds_.emplace(program_, roles_.all(), speeds_);
    ranks_ = ranks();
    check_room();
  }

  /// Beforehand; watch_distinct() looks at what only the replay can know.
  void check_room() const {
    const double operations = operations_of(ranks_);
    const bool shared = all_share_work();
    const double most = shared ? kMostShared : kMostOwn;
    if (operations <= most) return;
    throw TrainingStepTooLarge{fmt::format(
        "{} ranks {}, {:.0f} million operations in all; at the most {:.0f} million can be "
        "simulated; --fidelity auto simulates one rank of each kind",
        ranks_.size(), shared ? "in classes of their own" : "are simulated one by one",
        operations / 1e6, most / 1e6)};
  }

  /// Whether ranks that are in one state follow each other, so that times are kept of those alone
  /// that differ.
  [[nodiscard]] bool all_share_work() const {
    return !fold_ && fidelity_ == Fidelity::all_ranks && options_.fold != Folding::off &&
           options_.network != NetworkModel::queue && !logs_transfers();
  }

  [[nodiscard]] bool logs_transfers() const { return options_.link_series && !fold_ && !classes_; }

  /// Ends a replay in which too many operations have times of their own, or will have at this rate:
  /// where ranks differ for good, ever more operations come to differ.
  void watch_distinct(const ReplayProgress& progress) const {
    if (progress.stream_ends == nullptr) return;
    double own = 0;
    for (std::size_t s = 0; s < progress.stream_ends->size(); ++s)
      own += static_cast<double>(progress.stream_ends->own(s));
    const bool foreseen = own <= options_.most_distinct;
    const double all = own / progress.share;
    if (foreseen && (progress.share < kTelling || all <= kTooMany * options_.most_distinct ||
                     differ_for_a_time()))
      return;
    std::set<EndpointId> differ;
    for (std::size_t s = 0; s < progress.stream_ends->size(); ++s)
      if (progress.stream_ends->own(s) > 0) differ.insert(lowered_.workload.streams[s].endpoint);
    throw TrainingStepTooLarge{fmt::format(
        "{} of {} ranks have times of their own, of {:.0f} million operations after {:.0f} % of "
        "the step{}; at the most {:.0f} million can be simulated; --fidelity auto simulates one "
        "rank of each kind",
        differ.size(), ranks_.size(), own / 1e6, 100 * progress.share,
        foreseen ? fmt::format(", about {:.0f} million by its end", all / 1e6) : "",
        options_.most_distinct / 1e6)};
  }

  [[nodiscard]] bool differ_for_a_time() const {
    return std::ranges::any_of(options_.speeds,
                               [](const auto& each) { return !each.second.windows.empty(); });
  }

  [[nodiscard]] OnReplay during_replay() const {
    if (!all_share_work() || operations_of(ranks_) <= options_.most_distinct)
      return options_.on_replay;
    return [this](const ReplayProgress& progress) {
      watch_distinct(progress);
      if (options_.on_replay) options_.on_replay(progress);
    };
  }

  [[nodiscard]] bool may_fold(const Work& work, bool free) const {
    if (options_.fold == Folding::off || options_.fidelity == Fidelity::representatives)
      return false;
    if (options_.network == NetworkModel::queue) return false;
    return !free || work.one_each <= kMostForAllRanks;
  }

  void find_classes() {
    fold_ = FoldedTrainingStep::find({.program = program_,
                                      .roles = roles_.all(),
                                      .network = network_,
                                      .model = options_.network,
                                      .choice = choice_,
                                      .endpoint = endpoints(),
                                      .speeds = speeds_});
  }

  [[nodiscard]] bool helps(bool free) const {
    const bool always = options_.fold == Folding::always;
    const double most = always ? kMostOwn : kMostForAllRanks;
    if (free && fold_->work(cluster_.gpus_per_node()) > most) return false;
    return always || saves_half();
  }

  [[nodiscard]] bool saves_half() const { return 2 * fold_->classes() <= fold_->class_of().size(); }

  /// Of a large step: each class has a program of its own, where ranks of a role share one, so that
  /// it takes less to simulate all ranks and to report the representatives.
  [[nodiscard]] bool too_many_classes(const Work& work) const {
    if (work.all <= kMostForAllRanks) return false;
    if (saves_half() && operations_of(fold_->representatives()) <= kMostOfClasses) return false;
    return operations_of(simulated_ranks(program_, Fidelity::all_ranks)) <= kMostShared;
  }

  [[nodiscard]] double operations_of(const std::vector<int>& ranks) const {
    double out = 0;
    for (const int rank : ranks)
      out += static_cast<double>(roles_[role_played(program_, rank)].operations.size());
    return out;
  }

  [[nodiscard]] std::vector<int> ranks() const {
    if (fold_) return fold_->representatives();
    return kinds_ ? kinds_->representatives() : simulated_ranks(program_, fidelity_);
  }

  void lower() {
    if (fidelity_ == Fidelity::representatives)
      times_.emplace(program_, cluster_, network_, options_.network, choice_, endpoints());
    lowered_ = lower_program({.program = program_,
                              .roles = roles_.all(),
                              .ranks = ranks_,
                              .kernels = kernels_,
                              .choice = choice_,
                              .times = times_ ? &*times_ : nullptr,
                              .endpoint = endpoints(),
                              .slowdown = cost_.slowdown_while_communicating(),
                              .speeds = speeds_,
                              .fold = fold_.get(),
                              .kinds = kinds_ ? &*kinds_ : nullptr,
                              .on_progress = options_.on_lowering,
                              .calls_in_turn = calls_take_turns(options_, network())});
  }

  [[nodiscard]] const Network& network() const { return fold_ ? fold_->network() : network_; }

  /// Whether decide() would choose the same of the whole program.
  [[nodiscard]] bool all_ranks_even_if_longer(const ShortenedProgram& shorter) const {
    if (fidelity_ != Fidelity::all_ranks || options_.fold == Folding::off) return false;
    if (options_.link_series || options_.on_replay) return false;
    const double more =
        1 + static_cast<double>(shorter.left_out) / static_cast<double>(shorter.periods.periods);
    const Work work = work_of(program_, roles_.all());
    if (more * work.one_each > kMostForAllRanks) return false;
    return more * (fold_ ? fold_->work(cluster_.gpus_per_node()) : work.all) <= kMostForAllRanks;
  }

  void replay_all() {
    lower();
    lowered_.workload.logs_transfers = logs_transfers() && !times_;
    const auto play = options_.fold == Folding::off ? replay : replay_reusing;
    result_ = play(network(), lowered_.workload, options_.network, during_replay());
    if (!result_.unfinished.empty()) throw_stuck(result_);
  }

  [[nodiscard]] std::uint64_t transfers() const {
    if (fold_) return fold_->transfers();
    return result_.transfers + (times_ ? times_->transfers() : 0);
  }

  /// The first simulated rank of every role that has a device.
  [[nodiscard]] std::vector<std::pair<const RoleProgram*, RankTimeline>> devices() const {
    std::vector<std::pair<const RoleProgram*, RankTimeline>> out;
    std::set<std::size_t> seen;
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      const RoleProgram& role = roles_[role_played(program_, ranks_[i])];
      if (program_.roles[role.role].host || !seen.insert(role.role).second) continue;
      auto waits = std::make_shared<OperationWaits>(role, lowered_.issued[role.role]);
      out.emplace_back(&role, rank_timeline(role, ranks_[i], lowered_.places[i], std::move(waits),
                                            result_.stream_ends));
    }
    return out;
  }

  [[nodiscard]] KernelTimes::Host host() const {
    return KernelTimes::host_of(cluster_, program_.mesh.ranks(), options_.host_memory,
                                options_.host_link);
  }

  void report_classes(SimulatedTrainingStep& out) const {
    out.timeline.representative_of = fold_->class_of();
    out.timeline.link_bytes = fold_->link_bytes(result_);
    const bool differences = options_.fold == Folding::always;
    out.classes = fold_->describe(differences);
    if (differences) find_partings(out.timeline, out.classes);
  }

  /// As if only the representatives had been simulated.
  void report_classes_of_all(SimulatedTrainingStep& out) {
    std::vector<RankTimeline> ranks;
    for (const int rank : classes_->representatives)
      ranks.push_back(std::move(out.timeline.ranks[static_cast<std::size_t>(rank)]));
    out.timeline.ranks = std::move(ranks);
    out.timeline.representative_of = std::move(classes_->class_of);
    out.timeline.link_bytes = result_.link_bytes;
    out.classes = std::move(classes_->described);
    find_partings(out.timeline, out.classes);
  }

  void add_links(SimulatedTrainingStep& out) const {
    LinkLoads loads;
    for (const LoggedTransfer& transfer : result_.log) loads.add(network_, transfer);
    if (times_) add_first(out.timeline, *times_, loads);
    out.links = loads.series(cluster_);
  }

  const Program& program_;
  const RolePrograms& roles_;
  const Cluster& cluster_;
  const CostModel& cost_;
  const SimulationOptions& options_;
  const Network& network_;
  CollectiveChoice& choice_;
  KernelTimes kernels_;
  RankSpeeds speeds_;  // with loads
  Fidelity fidelity_ = Fidelity::automatic;
  std::unique_ptr<FoldedTrainingStep> fold_;
  /// Of a step that is to be folded, but all of whose ranks are simulated.
  struct Classes {
    std::vector<RankEquivalenceClass> described;
    std::vector<std::uint32_t> class_of;
    std::vector<int> representatives;
  };
  std::optional<Classes> classes_;
  std::optional<CoarseRankClasses> kinds_;
  std::optional<ReplayedTimes> times_;  // of representatives
  std::vector<int> ranks_;              // that are simulated
  LoweredProgram lowered_;
  ReplayResult result_;
};

}  // namespace

bool calls_take_turns(const SimulationOptions& options, const Network& network) {
  return options.fold != Folding::off && order_of_calls_is_free(network, options.network);
}

TrainingStepSimulator::TrainingStepSimulator(std::shared_ptr<const SimulatedCluster> on,
                                             SimulationOptions options)
    : on_{std::move(on)}, options_{std::move(options)} {}

CollectiveChoice& TrainingStepSimulator::choice(bool has_hosts, const Algorithms& algorithms) {
  const std::pair key{has_hosts, algorithms};
  const auto known = choices_.find(key);
  if (known != choices_.end()) return known->second;
  const bool in_fabric = uses_fabric_switches(algorithms);
  return choices_
      .emplace(key, CollectiveChoice{on_->cluster(), on_->network(has_hosts, in_fabric),
                                     on_->switches(in_fabric), on_->device(), on_->tuning(),
                                     algorithms, on_->model()})
      .first->second;
}

SimulatedTrainingStep TrainingStepSimulator::simulate(std::shared_ptr<const Program> program,
                                                      const RolePrograms& roles,
                                                      const ParallelConfig& parallel,
                                                      const CostModel& cost) {
  CollectiveChoice& chosen = choice(hosts_of(*program) > 0, parallel.algorithms);
  Simulation simulation{*program, roles, *on_, cost, options_, chosen};
  return simulation.run(std::move(program));
}

std::optional<TrainingStepOutcome> TrainingStepSimulator::outcome(const ShortenedProgram& shorter,
                                                                  const RolePrograms& roles,
                                                                  const ParallelConfig& parallel,
                                                                  const CostModel& cost) {
  CollectiveChoice& chosen = choice(false, parallel.algorithms);
  return Simulation{shorter.program, roles, *on_, cost, options_, chosen}.outcome_with_all_periods(
      shorter);
}

TrainingStepOutcome TrainingStepSimulator::outcome(const Program& program,
                                                   const RolePrograms& roles,
                                                   const ParallelConfig& parallel,
                                                   const CostModel& cost) {
  CollectiveChoice& chosen = choice(hosts_of(program) > 0, parallel.algorithms);
  return Simulation{program, roles, *on_, cost, options_, chosen}.outcome();
}

}  // namespace lockstep
