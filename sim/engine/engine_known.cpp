#include <algorithm>
#include <limits>
#include <utility>

#include "sim/base/check.hpp"
#include "sim/engine/engine.hpp"
#include "sim/engine/replay_reusing.hpp"

namespace lockstep {

// Calls that nothing else can touch while they are under way: the first of a shape is replayed on
// its own, the others take as long. Nothing can where no other traffic crosses the links, all
// members begin at one instant, and no member comes to reduce or copy for another call meanwhile.

namespace {

/// Streams may be ahead of the sum of their durations by so little, where those are stretched and
/// shrunk again and rounded each time.
constexpr Duration kRounding = Duration::picoseconds(1'000'000);
/// So many times further than asked for is looked ahead, so that it need not be done every time.
constexpr std::int64_t kFurther = 8;

[[nodiscard]] bool shares_processors(const Workload& workload) {
  return std::any_of(workload.streams.begin(), workload.streams.end(), [](const Stream& stream) {
    return std::any_of(stream.all().begin(), stream.all().end(), [](const Activity& of) {
      return of.kind == Activity::Kind::compute && of.processor != Activity::kOwnProcessor;
    });
  });
}

}  // namespace

bool can_reuse(const Network& network, const Workload& workload, NetworkModel model) {
  if (model == NetworkModel::queue || workload.logs_transfers || workload.streams.empty())
    return false;
  const bool overheads =
      std::any_of(network.endpoints.begin(), network.endpoints.end(),
                  [](const Endpoint& e) { return e.message_overhead > Duration{}; });
  const bool scheduled = std::all_of(workload.calls.begin(), workload.calls.end(),
                                     [](const CollectiveCall& call) { return !call.takes; });
  return !overheads && scheduled && !shares_processors(workload);
}

void Engine::begin_to_reuse() {
  known_.emplace();
  known_->kinds = find_call_classes(*network_, *workload_);
  known_->uses.resize(known_->kinds.kinds.size());
  for (std::uint32_t s = 0; s < workload_->streams.size(); ++s) add_worker(s);
  std::erase_if(known_->workers_at, [](const auto& at) { return at.second.size() < 2; });
}

void Engine::add_worker(std::uint32_t stream) {
  const Stream& of = workload_->streams[stream];
  KnownCalls::Worker worker{stream};
  const std::vector<Activity>& operations = of.all();
  for (std::uint32_t i = 0; i < operations.size(); ++i) {
    if (operations[i].kind != Activity::Kind::collective) continue;
    const std::uint32_t kind = known_->kinds.of_call[of.member_slot(operations[i]).call];
    if (known_->kinds.kinds[kind].shape.works) worker.operations.push_back(i);
  }
  if (!worker.operations.empty()) known_->workers_at[of.endpoint].push_back(std::move(worker));
}

/// Lets a member wait for the others of this instant. False where it is to begin by itself.
bool Engine::offer(std::uint32_t call, std::uint32_t member) {
  if (!known_ || calls_[call].first_lane != kNone) return false;
  if (!known_->kinds.kinds[known_->kinds.of_call[call]].secluded) return false;
  if (workload_->calls[call].members.size() == 1) return begin_known(call);
  known_->offers.push_back({call, member});
  ++calls_[call].awaited;
  return true;
}

/// Begins what was offered: calls whose members are all there as known ones, if they are.
void Engine::begin_offered() {
  while (known_ && !known_->offers.empty()) {
    const std::vector<KnownCalls::Offer> offers = std::exchange(known_->offers, {});
    for (const auto& [call, member] : offers) {
      CallState& state = calls_[call];
      if (state.members_left == 0) continue;  // with the first of its members
      const bool all = state.awaited == workload_->calls[call].members.size();
      if (!(all && state.first_lane == kNone && begin_known(call))) begin_lanes(call, member);
    }
    run_ready();
    do_all_work();
    start_matched();
  }
}

/// False where it has to be replayed.
bool Engine::begin_known(std::uint32_t call) {
  const std::uint32_t kind = known_->kinds.of_call[call];
  const KnownCalls::Outcome& outcome = outcome_of(known_->kinds.kinds[kind]);
  if (!outcome.together) return false;
  const TimePoint end = queue_.now() + outcome.takes;
  if (known_->kinds.kinds[kind].shape.works) {
    const auto members = static_cast<std::uint32_t>(workload_->calls[call].members.size());
    for (std::uint32_t member = 0; member < members; ++member)
      if (!works_alone(call, member, end)) return false;
  }
  ++known_->uses[kind];
  calls_[call].members_left = 0;
  queue_.push(make_event(Kind::met, call, end));
  return true;
}

const KnownCalls::Outcome& Engine::outcome_of(const CallClass& kind) {
  const auto [found, is_new] = known_->outcomes.try_emplace(kind.shape.key);
  if (is_new) found->second = replayed_alone(kind);
  return found->second;
}

KnownCalls::Outcome Engine::replayed_alone(const CallClass& kind) const {
  const CollectiveCall& of = workload_->calls[kind.call];
  Workload alone;
  alone.calls.push_back({of.name, of.schedule, of.members, of.block});
  Engine engine{*network_, alone, model_};
  while (engine.advance()) {
  }
  const std::vector<TimePoint>& ends = engine.call_ends_.front();
  KnownCalls::Outcome out;
  out.together =
      engine.calls_.front().members_left == 0 &&
      std::all_of(ends.begin(), ends.end(), [&](TimePoint end) { return end == ends.front(); });
  out.takes = ends.front().since_start();
  for (const LinkId link : kind.shape.links) out.carried.push_back(engine.carried_[link]);
  out.transfers = engine.transfer_count_;
  return out;
}

/// Whether no other call can have a member's end point reduce or copy before `until`.
bool Engine::works_alone(std::uint32_t call, std::uint32_t member, TimePoint until) {
  const auto found = known_->workers_at.find(workload_->calls[call].members[member]);
  if (found == known_->workers_at.end()) return true;
  const std::uint32_t own = member_state(call, member).stream;
  const TimePoint clear = until + kRounding;
  for (KnownCalls::Worker& worker : found->second) {
    if (worker.stream == own || worker.earliest > clear) continue;
    worker.earliest = earliest_work(worker, clear);
    if (worker.earliest <= clear) return false;
  }
  return true;
}

/// A lower bound of when the next such call begins, exact enough to tell whether it can be before
/// `until`.
TimePoint Engine::earliest_work(KnownCalls::Worker& worker, TimePoint until) const {
  const std::uint32_t index = streams_[worker.stream].index;
  while (worker.next < worker.operations.size() && worker.operations[worker.next] < index)
    ++worker.next;
  if (worker.next == worker.operations.size())
    return TimePoint{Duration::picoseconds(std::numeric_limits<std::int64_t>::max())};
  const Stream& of = workload_->streams[worker.stream];
  const std::vector<Activity>& operations = of.all();
  TimePoint earliest = queue_.now();
  for (std::uint32_t i = index; i <= worker.operations[worker.next] && earliest <= until; ++i)
    for (const ActivityRef& ref : operations[i].after)
      earliest = std::max(earliest, earliest_end(of.named(ref), until));
  return earliest;
}

/// Of an operation: what its stream has to compute before, the present operation left out.
TimePoint Engine::earliest_end(ActivityRef ref, TimePoint until) const {
  const TimePoint far = queue_.now() + (until - queue_.now()) * kFurther;
  const std::vector<Activity>& operations = workload_->streams[ref.stream].all();
  TimePoint at = queue_.now();
  for (std::uint32_t i = streams_[ref.stream].index + 1; i <= ref.index && at <= far; ++i)
    if (operations[i].kind == Activity::Kind::compute) at = at + operations[i].duration;
  return at;
}

/// What known calls have put on links.
void Engine::add_known(std::vector<UInt128>& carried, std::uint64_t& transfers) const {
  if (!known_) return;
  for (std::size_t kind = 0; kind < known_->uses.size(); ++kind) {
    if (known_->uses[kind] == 0) continue;
    const CallShape& shape = known_->kinds.kinds[kind].shape;
    const KnownCalls::Outcome& outcome = known_->outcomes.at(shape.key);
    for (std::size_t i = 0; i < shape.links.size(); ++i)
      carried[shape.links[i]] += outcome.carried[i] * known_->uses[kind];
    transfers += outcome.transfers * known_->uses[kind];
  }
}

ReplayResult replay_reusing(const Network& network, const Workload& workload, NetworkModel model,
                            const OnReplay& report) {
  Engine engine(network, workload, model, can_reuse(network, workload, model));
  engine.advance_to_end(report);
  return engine.take_result();
}

}  // namespace lockstep
