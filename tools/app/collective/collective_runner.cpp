#include "tools/app/collective/collective_runner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/base/check.hpp"
#include "sim/execute/schedule/execute.hpp"
#include "sim/execute/schedule/no_content.hpp"
#include "sim/schedule/message_depth.hpp"
#include "sim/symmetry/folded_depth.hpp"
#include "sim/symmetry/replay_memory.hpp"
#include "strategies/collectives/placement/ready_algorithms.hpp"
#include "strategies/collectives/registry/algorithm_problem.hpp"
#include "tools/app/collective/setup/root.hpp"
#include "tools/app/fingerprint.hpp"

namespace lockstep::app {

namespace {

/// Schedules with more messages and steps are counted by their closed form.
constexpr std::int64_t kMostVisits = 50'000'000;

/// Who waits for whom in a circle, or for nobody.
std::string waits_of(const Schedule& schedule) {
  NoContent nothing;
  const ExecuteOutcome outcome = execute(schedule, nothing);
  return outcome.waits.empty() ? outcome.problem : describe_waits(schedule, outcome.waits);
}

std::string unfinished_text(const ReplayResult& result, const Schedule& schedule) {
  if (result.unfinished.empty()) return {};
  std::string text =
      fmt::format("deadlock: {}; {} ends of transfers never complete:", waits_of(schedule),
                  result.unfinished.size());
  constexpr std::size_t kShown = 10;
  for (std::size_t i = 0; i < std::min(kShown, result.unfinished.size()); ++i)
    text += "\n  " + result.unfinished[i].text;
  return text;
}

/// Of the problems of an algorithm.
std::string place_of(const CollectiveAlgorithm& row) {
  return fmt::format("algorithm {}", row.name);
}

}  // namespace

std::string Candidate::text() const {
  switch (kind) {
    case Kind::algorithm:
      return spec.text();
    case Kind::nccl:
      return automatic.text();
    case Kind::replayed:
      return "auto:by=replay";
    case Kind::imported:
      break;
  }
  return "schedule:" + import->name;
}

std::vector<AlgorithmSpec> available_algorithms(const CollectiveSetup& setup, Collective collective,
                                                int root, std::int64_t most_messages) {
  std::vector<AlgorithmSpec> out =
      ready_algorithms(setup.communicator(), collective, root, most_messages);
  std::erase_if(out, [&](const AlgorithmSpec& spec) {
    const CollectiveAlgorithm& row = *spec.algorithm;
    const int auxiliary_ranks = auxiliary_ranks_of(row, setup.input(spec.arguments, root, 1_MiB));
    return !setup.unreachable(row.auxiliary_ranks, auxiliary_ranks).empty();
  });
  return out;
}

CollectiveRunner::CollectiveRunner(const CollectiveSetup& setup, const Options& options)
    : setup_{setup},
      options_{options},
      ranks_{rank_settings(options.ranks, setup.ranks(), options.seed, setup.network()).ranks},
      chunks_{setup.model()},
      nccl_chunks_{setup.model()} {
  if (options.nccl != nullptr) nccl_.emplace(setup, *options.nccl);
}

std::vector<RequestProblem> CollectiveRunner::problems(const Candidate& candidate) const {
  if (candidate.kind == Candidate::Kind::replayed || candidate.kind == Candidate::Kind::nccl)
    return {};
  if (candidate.kind == Candidate::Kind::imported) {
    if (candidate.import->ranks == setup_.ranks()) return {};
    return {{"schedule " + candidate.import->name,
             fmt::format("is for {} ranks, the cluster has {}", candidate.import->ranks,
                         setup_.ranks())}};
  }
  const CollectiveAlgorithm& row = *candidate.spec.algorithm;
  check_root(row.collective, options_.root, setup_.ranks());
  const AlgorithmInput input = setup_.input(candidate.spec.arguments, options_.root, 1_MiB);
  std::vector<RequestProblem> out;
  for (AlgorithmProblem& problem : algorithm_problems(row, input))
    out.push_back(
        {problem.algorithm.empty() ? "algorithm" : place_of(row), std::move(problem.message)});
  if (!out.empty()) return out;
  const int auxiliary_ranks = auxiliary_ranks_of(row, input);
  if (!setup_.members(row.auxiliary_ranks, auxiliary_ranks).empty()) {
    std::string why = setup_.unreachable(row.auxiliary_ranks, auxiliary_ranks);
    if (!why.empty()) out.push_back({place_of(row), std::move(why)});
    return out;
  }
  if (row.auxiliary_ranks == AuxiliaryRanks::hosts) {
    out.push_back(
        {place_of(row), fmt::format("needs {} more host{}; name the algorithm to add them",
                                    auxiliary_ranks, auxiliary_ranks == 1 ? "" : "s")});
  } else {
    out.push_back({place_of(row),
                   fmt::format("needs {} switches in addition to the {} ranks; this cluster has {}",
                               auxiliary_ranks, input.n, setup_.cluster().auxiliary_ranks())});
  }
  return out;
}

CollectiveRun CollectiveRunner::prepare(const Candidate& candidate, Bytes size) const {
  switch (candidate.kind) {
    case Candidate::Kind::algorithm:
      return prepare_algorithm(candidate.spec, size);
    case Candidate::Kind::nccl:
      return prepare_nccl(candidate, size);
    case Candidate::Kind::replayed:
      return prepare_fastest(candidate, size);
    case Candidate::Kind::imported:
      break;
  }
  CollectiveRun out;
  out.schedule = candidate.import->schedule;
  out.members = setup_.members(AuxiliaryRanks::none, 0);
  out.layout = divide_message(size, *options_.type, out.schedule->blocks());
  return out;
}

CollectiveRun CollectiveRunner::prepare_algorithm(const AlgorithmSpec& spec, Bytes size) const {
  return prepared(spec, setup_.input(spec.arguments, options_.root, size), setup_.communicator(),
                  chunks_);
}

CollectiveRun CollectiveRunner::prepared(const AlgorithmSpec& spec, const AlgorithmInput& told,
                                         const PlacedCommunicator& by, ChunkSearch& chunks) const {
  CollectiveRun out;
  const AlgorithmInput input = chunks.with_best_chunks(*spec.algorithm, told, by);
  out.schedule = make_schedule(*spec.algorithm, input);
  out.auxiliary_ranks = spec.algorithm->auxiliary_ranks;
  out.members = by.members(out.auxiliary_ranks, out.schedule->ranks() - input.n);
  LOCKSTEP_CHECK(!out.members.empty());
  out.layout = divide_message(input.size.value(), *options_.type, out.schedule->blocks());
  return out;
}

CollectiveRun CollectiveRunner::prepare_nccl(const Candidate& candidate, Bytes size) const {
  const NcclChooser& nccl = nccl_.value();
  const NcclPick pick = nccl.pick(candidate.collective, size, candidate.automatic);
  const NcclCommunicator& by = nccl.communicator();
  CollectiveRun out = prepared(pick.spec, by.input(pick.spec.arguments, options_.root, size),
                               by.placed(), nccl_chunks_);
  out.chosen = pick.text;
  out.network = nccl.network();
  out.launch = pick.launch;
  out.nccl_model = pick.model;
  if (pick.windows_kernel.empty()) out.cost.emplace(pick.cost, pick.terms);
  return out;
}

CollectiveRun CollectiveRunner::prepare_fastest(const Candidate& candidate, Bytes size) const {
  std::optional<CollectiveRun> best;
  Duration least;
  for (const AlgorithmSpec& spec :
       available_algorithms(setup_, candidate.collective, options_.root, kMostTriedMessages)) {
    CollectiveRun one = prepare_algorithm(spec, size);
    const CollectiveResult replayed = replay(candidate, one);
    if (!replayed.unfinished.empty() || (best && least <= replayed.time)) continue;
    one.chosen = spec.text();
    best = std::move(one);
    least = replayed.time;
  }
  LOCKSTEP_CHECK(best.has_value());
  return *std::move(best);
}

Contract CollectiveRunner::contract_of(const Candidate& candidate, const Schedule& schedule) const {
  if (candidate.import) return candidate.import->contract().value();
  const AlgorithmArguments& arguments = candidate.spec.arguments;
  const auto distance = arguments.find("distance");
  return lockstep::contract_of(
      candidate.collective, schedule, setup_.ranks(), options_.root,
      distance == arguments.end() ? 1 : static_cast<int>(std::get<std::int64_t>(distance->second)));
}

std::vector<TimePoint> CollectiveRunner::starts(std::size_t members, Duration launch) const {
  std::vector<TimePoint> out;
  const auto ranks = static_cast<std::size_t>(setup_.ranks());
  if (options_.skew != Duration{} || launch != Duration{})
    for (std::size_t i = 0; i < members; ++i)
      out.emplace_back(launch +
                       (i < ranks ? skew_of(options_.seed, i, options_.skew) : Duration{}));
  apply(ranks_, members, out);
  return out;
}

std::shared_ptr<const Network> CollectiveRunner::network_of(const CollectiveRun& prepared) const {
  const Network& usual = prepared.network ? *prepared.network : setup_.network();
  if (ranks_.empty()) return {std::shared_ptr<void>{}, &usual};
  auto out = std::make_shared<Network>(usual);
  apply(ranks_, *out);
  return out;
}

std::vector<RequestProblem> CollectiveRunner::memory_problems(const Candidate& candidate,
                                                              Bytes size) const {
  if (candidate.kind != Candidate::Kind::algorithm) return {};
  const CollectiveRun run = prepare(candidate, size);
  FoldOptions options;
  options.fold = options_.fold;
  const ReplayMemory memory =
      replay_memory(setup_.network(), workload_of(candidate, run), setup_.model(), options);
  if (memory.bytes <= options_.most_memory) return {};
  return {{place_of(*candidate.spec.algorithm),
           fmt::format("a replay needs some {:.3g} GiB of memory, --max-memory allows {:.3g} GiB",
                       static_cast<double>(memory.bytes.count()) / (1 << 30),
                       static_cast<double>(options_.most_memory.count()) / (1 << 30))}};
}

namespace {

OnReplay during_replay(const OnPhase& on_phase) {
  if (!on_phase) return {};
  return [&on_phase](const ReplayProgress& now) {
    const Duration simulated = now.now.since_start();
    on_phase({"simulating", now.share,
              simulated == Duration{} ? std::string{} : to_string(simulated) + " simulated"});
  };
}

OnFoldedReplay during_folded(const OnPhase& on_phase) {
  if (!on_phase) return {};
  return [&on_phase](FoldPhase phase, const ReplayProgress& now) {
    if (phase == FoldPhase::equivalence) return on_phase({"finding equivalent ranks"});
    during_replay(on_phase)(now);
  };
}

}  // namespace

/// With the ranks' own figures; a copy only where there are such.
FoldedReplay CollectiveRunner::replay_on(const Network& network, const Workload& workload,
                                         const OnPhase& on_phase) const {
  FoldOptions options;
  options.fold = options_.fold;
  options.step_ends = options_.step_ends;
  options.report = during_folded(on_phase);
  options.on_memory = [&](const ReplayMemory& memory) {
    refuse_large_replay(memory, workload, options_.fold, options_.most_memory);
  };
  if (ranks_.empty()) return replay_folded(network, workload, setup_.model(), options);
  Network changed = network;
  apply(ranks_, changed);
  return replay_folded(changed, workload, setup_.model(), options);
}

Workload CollectiveRunner::workload_of(const Candidate& candidate,
                                       const CollectiveRun& prepared) const {
  CollectiveCall call;
  call.name = fmt::format("{} {}", to_string(candidate.collective),
                          prepared.chosen.empty() ? candidate.text() : prepared.chosen);
  call.schedule = prepared.schedule;
  call.members = prepared.members;
  call.block = prepared.layout.block;
  call.starts = starts(prepared.members.size(), prepared.launch);
  Workload workload;
  workload.calls.push_back(std::move(call));
  return workload;
}

std::vector<LoggedTransfer> CollectiveRunner::transfers(const Candidate& candidate,
                                                        const CollectiveRun& prepared,
                                                        const OnPhase& on_phase) const {
  Workload workload = workload_of(candidate, prepared);
  workload.logs_transfers = true;
  Network network = prepared.network ? *prepared.network : setup_.network();
  FoldOptions options;
  options.fold = false;
  refuse_large_replay(network, workload, setup_.model(), options, options_.most_memory);
  if (!ranks_.empty()) apply(ranks_, network);
  return lockstep::replay(network, workload, setup_.model(), during_replay(on_phase)).log;
}

CollectiveResult CollectiveRunner::replay(const Candidate& candidate, const CollectiveRun& prepared,
                                          const OnPhase& on_phase) const {
  const Workload workload = workload_of(candidate, prepared);
  const Network& network = prepared.network ? *prepared.network : setup_.network();
  FoldedReplay replayed = replay_on(network, workload, on_phase);
  const ReplayResult& result = replayed.result;
  CollectiveResult out;
  out.fold = std::move(replayed.report);
  out.unfinished = unfinished_text(result, *prepared.schedule);
  out.time = result.end.since_start();
  out.messages = result.transfers;
  out.ends = result.call_ends[0];
  find_busiest(result, network, out);
  Fingerprint fingerprint;
  for (const TimePoint end : out.ends) fingerprint.add(end.ps());
  out.fingerprint = fingerprint.text();
  return out;
}

void CollectiveRunner::find_busiest(const ReplayResult& result, const Network& network,
                                    CollectiveResult& out) const {
  const std::vector<Link>& links = network.links;
  double most = 0;
  std::size_t busiest = result.link_bytes.size();
  for (std::size_t i = 0; i < result.link_bytes.size(); ++i) {
    // Where only ports limit, what other links would have to carry says nothing.
    if (setup_.model() == NetworkModel::alpha_beta && !links[i].port) continue;
    const double seconds =
        static_cast<double>(result.link_bytes[i].count()) / links[i].bandwidth.bytes_per_second();
    if (seconds <= most) continue;
    most = seconds;
    busiest = i;
  }
  if (busiest == result.link_bytes.size() || out.time == Duration{}) return;
  out.busiest_link = setup_.link_name(static_cast<LinkId>(busiest));
  // A link may seem to carry more than it can by what its messages end early, at whole picoseconds.
  out.busy = std::min(1.0, most / out.time.seconds());
}

namespace {

std::optional<ScheduleMeasure> measured(const Schedule& schedule, const FoldReport& fold,
                                        int senders) {
  if (!fold.folded) return measure(schedule, kMostVisits, senders);
  std::vector<RankMultiple> classes;
  for (const EquivalenceClass& each : fold.classes)
    classes.push_back({each.representative, each.members});
  return measure(schedule, classes, kMostVisits, senders);
}

/// Distinguishes schedules of one algorithm for several sizes: the number of chunks, which is
/// not always one of blocks, shows in the steps.
std::string shape_of(const Schedule& schedule) {
  std::string out = fmt::format("{} {} {}", schedule.ranks(), schedule.blocks(), schedule.lanes());
  for (const int rank : {0, schedule.ranks() - 1})
    for (int lane = 0; lane < schedule.lanes(); ++lane)
      out += fmt::format(" {}", schedule.steps(rank, lane));
  for (const lockstep::Phase& phase : schedule.phases())
    out += fmt::format(" {}:{}", phase.first, phase.count);
  return out;
}

/// Messages that follow one another, where lanes share rounds out: by classes where there are such.
std::optional<std::int64_t> depth_of(const SchedulePtr& schedule, const FoldReport& fold) {
  // A second replay is quick up to so many transfers one by one; beyond, it is tried last, and with
  // more than the other number not at all.
  constexpr std::uint64_t kFewSimulated = 100'000;
  constexpr std::uint64_t kMostSimulated = 20'000'000;
  const auto by_classes = [&](std::uint64_t most) {
    return fold.folded && fold.simulated_transfers <= most ? folded_message_depth(schedule)
                                                           : std::nullopt;
  };
  if (const auto depth = by_classes(kFewSimulated)) return depth;
  if (const auto depth = steady_depth(*schedule)) return depth;
  if (const auto depth = by_classes(kMostSimulated)) return depth;
  return message_depth(*schedule);
}

}  // namespace

ScheduleCounts CollectiveRunner::count(const Candidate& candidate, const CollectiveRun& prepared,
                                       const CollectiveResult& replayed) const {
  const SchedulePtr& schedule = prepared.schedule;
  const bool switches = prepared.auxiliary_ranks == AuxiliaryRanks::node_switches ||
                        prepared.auxiliary_ranks == AuxiliaryRanks::fabric_switches;
  const int senders = switches ? setup_.ranks() : schedule->ranks();
  ScheduleCounts out;
  if (const auto walked = measured(*schedule, replayed.fold, senders)) {
    out = {walked->rounds, walked->sent_blocks};
  } else if (candidate.kind == Candidate::Kind::algorithm) {
    const auto cost =
        cost_of(*candidate.spec.algorithm,
                setup_.input(candidate.spec.arguments, options_.root, prepared.layout.size));
    if (cost) out = {cost->rounds, cost->sent_blocks};
  }
  // With one lane a round is a step; several lanes, and schedules of others, share rounds out.
  if (candidate.kind == Candidate::Kind::imported || schedule->lanes() > 1)
    out.rounds = depth_of(schedule, replayed.fold);
  return out;
}

ScheduleCounts CollectiveRunner::counts_of(const Candidate& candidate,
                                           const CollectiveRun& prepared,
                                           const CollectiveResult& replayed) const {
  const std::string key = fmt::format("{} {} {}", to_string(candidate.collective),
                                      prepared.chosen.empty() ? candidate.text() : prepared.chosen,
                                      shape_of(*prepared.schedule));
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = counted_.find(key); found != counted_.end()) return found->second;
  }
  const ScheduleCounts counts = count(candidate, prepared, replayed);
  const std::lock_guard lock(mutex_);
  return counted_.emplace(key, counts).first->second;
}

}  // namespace lockstep::app
