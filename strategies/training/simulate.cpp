#include "strategies/training/simulate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "strategies/nccl/tuning_file.hpp"
#include "strategies/training/lowering.hpp"
#include "strategies/training/replayed_times.hpp"
#include "topologies/lower.hpp"

namespace lockstep {

namespace {

/// Beyond so many activities and messages all ranks take longer than a user waits.
constexpr double kMostForAllRanks = 6e6;
/// Of a collective: two rounds of a ring, over several channels.
constexpr double kMessagesPerMember = 8;

/// About how much there is to replay when every rank is simulated.
[[nodiscard]] double work_of_all_ranks(const Program& program,
                                       const std::vector<RoleProgram>& roles) {
  double work = 0;
  for (std::size_t i = 0; i < roles.size(); ++i) {
    double of_rank = 0;
    for (const RoleOperation& operation : roles[i].operations) {
      of_rank += 1;
      if (operation.operation->kind != OperationKind::collective) continue;
      of_rank += kMessagesPerMember * program.mesh.size(operation.operation->communication->over);
    }
    const double players = program.roles[i].host ? 1
                                                 : static_cast<double>(program.mesh.ranks()) /
                                                       static_cast<double>(roles.size());
    work += of_rank * players;
  }
  return work;
}

[[nodiscard]] int hosts_of(const Program& program) {
  return static_cast<int>(std::count_if(program.roles.begin(), program.roles.end(),
                                        [](const Role& role) { return role.host; }));
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
void add_first(const StepTimeline& timeline, const ReplayedTimes& times, LinkLoads& loads) {
  const RankTimeline& first = timeline.ranks.front();
  const RoleProgram& role = timeline.roles[first.role];
  for (std::size_t i = 0; i < role.operations.size(); ++i) {
    times.add_loads(first.rank, role, role.operations[i], first.operations[i].end, loads);
  }
}

[[noreturn]] void throw_stuck(const ReplayResult& result) {
  std::string text =
      fmt::format("the training step cannot end; {} wait for ever:", result.unfinished.size());
  constexpr std::size_t kShown = 10;
  for (std::size_t i = 0; i < std::min(kShown, result.unfinished.size()); ++i) {
    text += "\n  " + result.unfinished[i].text;
  }
  throw ProgramStuck{text};
}

}  // namespace

SimulatedStep simulate(std::shared_ptr<const Program> program, const ParallelConfig& parallel,
                       const Cluster& cluster, const Device& device, const CostModel& cost,
                       const SimulationOptions& options) {
  std::vector<RoleProgram> roles;
  for (std::size_t i = 0; i < program->roles.size(); ++i) roles.push_back(unroll(*program, i));
  SimulatedStep out;
  out.fidelity = options.fidelity;
  if (out.fidelity == Fidelity::automatic) {
    out.fidelity = work_of_all_ranks(*program, roles) <= kMostForAllRanks
                       ? Fidelity::all_ranks
                       : Fidelity::representatives;
  }
  const RoutePolicy policy =
      options.network == NetworkModel::queue ? RoutePolicy::ecmp : RoutePolicy::automatic;
  const Network network = lower(cluster, device.endpoint(), policy);
  CollectiveChoice choice{cluster, network, device, load_nccl_tuning(options.nccl_tuning),
                          parallel.algorithms};
  const auto endpoint = [&](int rank) {
    const int hosts_after = cluster.ranks() - program->mesh.ranks();
    return static_cast<EndpointId>(rank < program->mesh.ranks() ? rank : rank + hosts_after);
  };
  ReplayedTimes times{*program, cluster, network, options.network, choice, endpoint};
  const int sharers = std::max(1, std::min(cluster.gpus_per_node(), program->mesh.ranks()));
  const auto share = options.host_memory ? std::optional{options.host_memory->scaled(1.0 / sharers)}
                                         : std::nullopt;
  const KernelTimes kernels{*program, cost, {options.host_memory, share, options.host_link}};
  const std::vector<int> ranks = simulated_ranks(*program, out.fidelity);
  const bool representatives = out.fidelity == Fidelity::representatives;
  LoweredProgram lowered =
      lower_program({*program, roles, ranks, kernels, choice, representatives ? &times : nullptr,
                     endpoint, cost.slowdown_while_communicating()});
  lowered.workload.logs_transfers = options.link_series && !representatives;
  const ReplayResult result = replay(network, lowered.workload, options.network);
  if (!result.unfinished.empty()) throw_stuck(result);
  out.timeline =
      timeline_of(std::move(program), std::move(roles), ranks, lowered, result.stream_ends);
  out.timeline.end = result.end;
  out.timeline.link_bytes = representatives ? times.link_bytes() : result.link_bytes;
  out.transfers = result.transfers + times.transfers();
  out.algorithms = choice.report();
  if (options.link_series) {
    LinkLoads loads;
    for (const LoggedTransfer& transfer : result.log) loads.add(network, transfer);
    if (representatives) add_first(out.timeline, times, loads);
    out.links = loads.series(cluster);
  }
  return out;
}

}  // namespace lockstep
