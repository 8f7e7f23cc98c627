#include "strategies/step/simulate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "sim/engine/replay_reusing.hpp"
#include "sim/program/communicator.hpp"
#include "strategies/nccl/tuning_file.hpp"
#include "strategies/step/lowering/coarse_rank_classes.hpp"
#include "strategies/step/lowering/fold_step.hpp"
#include "strategies/step/lowering/lowering.hpp"
#include "strategies/step/replayed_times.hpp"
#include "topologies/graph/nodes.hpp"
#include "topologies/in_network/lower_with_switches.hpp"

namespace lockstep {

namespace {

/// Above this number of activities and messages, simulating all ranks takes too long.
constexpr double kMostForAllRanks = 6e6;
/// Above this number of operations, of some 200 bytes each, memory does not suffice.
constexpr double kMostOperations = 5e7;
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
    times.add_loads(first.rank, role, role.operations[i], first.operations[i].end, loads);
  }
}

/// GPUs add up what they receive while it comes in, as NCCL's kernels do; what that costs beyond
/// the links is in the measured costs. Servers add up what they have received.
[[nodiscard]] Endpoint endpoint_of(const Device& device, const Program& program) {
  Endpoint out = device.endpoint();
  if (hosts_of(program) == 0) out.reduce_rate.reset();
  return out;
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

/// One simulation: what is put together on the way to its timeline.
class Simulation {
 public:
  Simulation(std::shared_ptr<const Program> program, const ParallelConfig& parallel,
             const Cluster& cluster, const Device& device, const CostModel& cost,
             const SimulationOptions& options)
      : program_{std::move(program)},
        parallel_{parallel},
        cluster_{cluster},
        device_{device},
        cost_{cost},
        options_{options},
        switches_{ReducingSwitches::in_nodes(cluster, device)},
        network_{lower_with_switches(
            cluster, switches_.forests(), endpoint_of(device, *program_),
            options.network == NetworkModel::queue ? RoutePolicy::ecmp : RoutePolicy::automatic)} {
    for (std::size_t i = 0; i < program_->roles.size(); ++i) roles_.push_back(unroll(*program_, i));
    choose_algorithms();
  }

  SimulatedTrainingStep run() {
    decide();
    simulate();
    return std::move(out_);
  }

 private:
  void choose_algorithms() {
    choice_.emplace(cluster_, network_, switches_, device_,
                    load_nccl_tuning(options_.nccl_tuning, options_.costs), parallel_.algorithms,
                    options_.network);
  }

  [[nodiscard]] std::function<EndpointId(int)> endpoints() const {
    const int ranks = program_->mesh.ranks();
    const int hosts_after = cluster_.ranks() - ranks;
    return [ranks, hosts_after](int rank) {
      return static_cast<EndpointId>(rank < ranks ? rank : rank + hosts_after);
    };
  }

  /// All ranks where that is quick, or nothing else would do; folded where that helps.
  void decide() {
    const Work work = work_of(*program_, roles_);
    const bool free = options_.fidelity == Fidelity::automatic;
    if (may_fold(work, free)) find_classes();
    if (fold_ && !helps(free)) fold_.reset();
    // Unfolded, all ranks have the same times; a fidelity never depends on the link loads.
    const bool all_are_quick = !free || work.all <= kMostForAllRanks;
    if (fold_ && options_.link_series && options_.fold != Folding::always && all_are_quick)
      fold_.reset();
    out_.fidelity = options_.fidelity;
    if (out_.fidelity == Fidelity::automatic) {
      out_.fidelity = fold_ || all_are_quick ? Fidelity::all_ranks : Fidelity::representatives;
    }
    if (!fold_) choose_algorithms();
    if (out_.fidelity == Fidelity::representatives && !options_.speeds.empty())
      kinds_.emplace(*program_, roles_, options_.speeds);
    check_room();
  }

  void check_room() const {
    double operations = 0;
    const std::vector<int> ranks = this->ranks();
    for (const int rank : ranks)
      operations += static_cast<double>(roles_[role_played(*program_, rank)].operations.size());
    if (operations <= kMostOperations) return;
    throw TrainingStepTooLarge{fmt::format(
        "{} ranks differ from each other, {:.0f} million operations in all; at the most {:.0f} "
        "million can be simulated; --fidelity auto simulates one rank of each kind",
        ranks.size(), operations / 1e6, kMostOperations / 1e6)};
  }

  [[nodiscard]] bool may_fold(const Work& work, bool free) const {
    if (options_.fold == Folding::off || options_.fidelity == Fidelity::representatives)
      return false;
    if (options_.network == NetworkModel::queue) return false;
    return !free || work.one_each <= kMostForAllRanks;
  }

  void find_classes() {
    fold_ = FoldedTrainingStep::find({.program = *program_,
                                      .roles = roles_,
                                      .network = network_,
                                      .model = options_.network,
                                      .choice = *choice_,
                                      .endpoint = endpoints(),
                                      .speeds = options_.speeds});
  }

  [[nodiscard]] bool helps(bool free) const {
    const bool always = options_.fold == Folding::always;
    const double most = always ? kMostOperations : kMostForAllRanks;
    if (free && fold_->work(cluster_.gpus_per_node()) > most) return false;
    if (always) return true;
    return 2 * fold_->classes() <= fold_->class_of().size();
  }

  [[nodiscard]] std::vector<int> ranks() const {
    if (fold_) return fold_->representatives();
    return kinds_ ? kinds_->representatives() : simulated_ranks(*program_, out_.fidelity);
  }

  void simulate() {
    const bool representatives = out_.fidelity == Fidelity::representatives;
    ReplayedTimes times{*program_, cluster_, network_, options_.network, *choice_, endpoints()};
    const KernelTimes kernels{*program_, cost_, host()};
    const std::vector<int> ranks = this->ranks();
    LoweredProgram lowered = lower_program({*program_, roles_, ranks, kernels, *choice_,
                                            representatives ? &times : nullptr, endpoints(),
                                            cost_.slowdown_while_communicating(), options_.speeds,
                                            fold_.get(), kinds_ ? &*kinds_ : nullptr});
    lowered.workload.logs_transfers = options_.link_series && !representatives && !fold_;
    const auto play = options_.fold == Folding::off ? replay : replay_reusing;
    const ReplayResult result =
        play(fold_ ? fold_->network() : network_, lowered.workload, options_.network);
    if (!result.unfinished.empty()) throw_stuck(result);
    out_.timeline = timeline_of(program_, std::move(roles_), ranks, lowered, result.stream_ends);
    out_.timeline.end = result.end;
    out_.algorithms = choice_->report();
    if (fold_) return report_classes(result);
    if (kinds_) {
      out_.timeline.representative_of = kinds_->class_of();
      out_.classes = kinds_->describe();
    }
    out_.timeline.link_bytes = representatives ? times.link_bytes() : result.link_bytes;
    out_.transfers = result.transfers + times.transfers();
    if (options_.link_series) add_links(result, representatives ? &times : nullptr);
  }

  [[nodiscard]] KernelTimes::Host host() const {
    const int sharers = std::max(1, std::min(largest_node(cluster_), program_->mesh.ranks()));
    const auto share = options_.host_memory
                           ? std::optional{options_.host_memory->scaled(1.0 / sharers)}
                           : std::nullopt;
    return {options_.host_memory, share, options_.host_link};
  }

  void report_classes(const ReplayResult& result) {
    out_.timeline.representative_of = fold_->class_of();
    out_.timeline.link_bytes = fold_->link_bytes(result);
    out_.transfers = fold_->transfers();
    out_.classes = fold_->describe(options_.fold == Folding::always);
  }

  void add_links(const ReplayResult& result, const ReplayedTimes* times) {
    LinkLoads loads;
    for (const LoggedTransfer& transfer : result.log) loads.add(network_, transfer);
    if (times != nullptr) add_first(out_.timeline, *times, loads);
    out_.links = loads.series(cluster_);
  }

  std::shared_ptr<const Program> program_;
  const ParallelConfig& parallel_;
  const Cluster& cluster_;
  const Device& device_;
  const CostModel& cost_;
  const SimulationOptions& options_;
  ReducingSwitches switches_;
  Network network_;
  std::vector<RoleProgram> roles_;
  std::optional<CollectiveChoice> choice_;
  std::unique_ptr<FoldedTrainingStep> fold_;
  std::optional<CoarseRankClasses> kinds_;
  SimulatedTrainingStep out_;
};

}  // namespace

SimulatedTrainingStep simulate(std::shared_ptr<const Program> program,
                               const ParallelConfig& parallel, const Cluster& cluster,
                               const Device& device, const CostModel& cost,
                               const SimulationOptions& options) {
  return Simulation{std::move(program), parallel, cluster, device, cost, options}.run();
}

}  // namespace lockstep
