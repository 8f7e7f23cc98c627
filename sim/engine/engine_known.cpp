#include <algorithm>
#include <limits>
#include <utility>

#include "sim/base/check.hpp"
#include "sim/engine/engine.hpp"
#include "sim/engine/replay_reusing.hpp"

namespace lockstep {

// Calls that nothing else can touch while they are under way: the first of a shape is replayed on
// its own, the others take as long. Nothing can where all members begin at one instant, no call
// that crosses the same links is under way or can begin meanwhile, and no member comes to reduce or
// copy for another call.

namespace {

/// Streams may be ahead of the sum of their durations by so little, where those are stretched and
/// shrunk again and rounded each time.
constexpr Duration kRounding = Duration::picoseconds(1'000'000);
constexpr std::size_t kMostRivals = 64;
/// Operations before a call of a rival whose dependencies are looked at.
constexpr std::uint32_t kMostLooked = 64;

}  // namespace

bool can_reuse(const Network& network, const Workload& workload, NetworkModel model) {
  if (model == NetworkModel::queue || workload.logs_transfers || workload.streams.empty())
    return false;
  const bool overheads =
      std::any_of(network.endpoints.begin(), network.endpoints.end(),
                  [](const Endpoint& e) { return e.message_overhead > Duration{}; });
  const bool scheduled = std::all_of(workload.calls.begin(), workload.calls.end(),
                                     [](const CollectiveCall& call) { return !call.takes; });
  return !overheads && scheduled && !workload.shares_processors();
}

void Engine::begin_to_reuse() {
  known_.emplace();
  known_->kinds = find_call_classes(*network_, *workload_);
  known_->uses.resize(known_->kinds.kinds.size());
  for (std::uint32_t s = 0; s < workload_->streams.size(); ++s) add_worker(s);
  std::erase_if(known_->workers_at, [](const auto& at) { return at.second.size() < 2; });
  known_->own_calls.assign(workload_->streams.size(), kNone);
  add_up_computations();
  find_rivals();
}

/// For each group, the streams whose calls and messages can be on its links. A group with many is
/// not known: every call would have to look at all of them.
void Engine::find_rivals() {
  const std::vector<CallGroup>& groups = known_->kinds.groups;
  known_->replayed.assign(groups.size(), 0);
  known_->messages.assign(groups.size(), 0);
  known_->rivals_of.resize(groups.size());
  std::vector<std::vector<std::uint32_t>> rivals_of(groups.size());  // inverse of CallGroup::rivals
  for (std::uint32_t group = 0; group < groups.size(); ++group)
    if (groups[group].is_known)
      for (const std::uint32_t rival : groups[group].rivals) rivals_of[rival].push_back(group);
  for (std::uint32_t s = 0; s < workload_->streams.size(); ++s) {
    const Stream& of = workload_->streams[s];
    const auto add = [&](std::uint32_t operation, const std::vector<std::uint32_t>& met) {
      for (const std::uint32_t group : met) {
        std::vector<KnownCalls::Caller>& callers = known_->rivals_of[group];
        if (callers.empty() || callers.back().stream != s) callers.push_back({s});
        callers.back().operations.push_back(operation);
      }
    };
    for (std::uint32_t i = 0; i < of.all().size(); ++i) {
      const Activity& operation = of.all()[i];
      if (operation.kind == Activity::Kind::collective) {
        const std::uint32_t kind = known_->kinds.of_call[of.member_slot(operation).call];
        add(i, rivals_of[known_->kinds.kinds[kind].group]);
      } else if (operation.kind == Activity::Kind::send) {
        const Correspondent to = of.end(operation);
        add(i, known_->kinds.crossed.at({of.endpoint, to.peer, to.tag}));
      }
    }
  }
  for (std::size_t group = 0; group < known_->rivals_of.size(); ++group)
    if (known_->rivals_of[group].size() > kMostRivals) known_->kinds.groups[group].is_known = false;
  for (const auto& [way, crossed] : known_->kinds.crossed)
    for (const std::uint32_t group : crossed)
      if (known_->kinds.groups[group].is_known) known_->counts_messages = true;
}

/// Calls whose transfers are on links, of groups whose rivals must know.
void Engine::count_replayed(std::uint32_t call, bool begins) {
  if (!known_) return;
  std::uint32_t& replayed =
      known_->replayed[known_->kinds.kinds[known_->kinds.of_call[call]].group];
  replayed = begins ? replayed + 1 : replayed - 1;
}

/// Messages of streams, from their sends to their arrivals.
void Engine::count_message(const MessageWay& way, bool begins) {
  if (!known_ || !known_->counts_messages) return;
  for (const std::uint32_t group : known_->kinds.crossed.at(way)) {
    std::uint32_t& messages = known_->messages[group];
    messages = begins ? messages + 1 : messages - 1;
  }
}

void Engine::add_worker(std::uint32_t stream) {
  const Stream& of = workload_->streams[stream];
  KnownCalls::Caller worker{stream};
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
  const CallClass& kind = known_->kinds.kinds[known_->kinds.of_call[call]];
  if (!known_->kinds.groups[kind.group].is_known) return false;
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
  if (!meets_no_rival(call, end)) return false;
  if (known_->kinds.kinds[kind].shape.works) {
    const auto members = static_cast<std::uint32_t>(workload_->calls[call].members.size());
    for (std::uint32_t member = 0; member < members; ++member)
      if (!works_alone(call, member, end)) return false;
  }
  ++known_->uses[kind];
  calls_[call].members_left = 0;
  calls_[call].until = end;
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
  alone.calls.front().traffic_weight = of.traffic_weight;
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
  return std::none_of(found->second.begin(), found->second.end(), [&](KnownCalls::Caller& worker) {
    return worker.stream != own && calls_before(worker, until);
  });
}

/// Whether no other call can use the links of this one before `until`.
bool Engine::meets_no_rival(std::uint32_t call, TimePoint until) {
  const std::uint32_t group = known_->kinds.kinds[known_->kinds.of_call[call]].group;
  const std::vector<std::uint32_t>& rivals = known_->kinds.groups[group].rivals;
  if (known_->rivals_of[group].empty()) return true;
  if (known_->messages[group] > 0) return false;
  if (std::any_of(rivals.begin(), rivals.end(),
                  [&](std::uint32_t rival) { return known_->replayed[rival] > 0; }))
    return false;
  // Its own streams come to other calls after it.
  for (std::uint32_t member = 0; member < workload_->calls[call].members.size(); ++member)
    if (const std::uint32_t own = member_state(call, member).stream; own != kNone)
      known_->own_calls[own] = call;
  std::vector<KnownCalls::Caller>& callers = known_->rivals_of[group];
  return std::none_of(callers.begin(), callers.end(), [&](KnownCalls::Caller& caller) {
    return known_->own_calls[caller.stream] != call && calls_before(caller, until);
  });
}

/// Whether a stream can come to the next of these calls before `until`, or is in one.
bool Engine::calls_before(KnownCalls::Caller& caller, TimePoint until) const {
  const TimePoint clear = until + kRounding;
  if (caller.earliest > clear) return false;
  caller.earliest = earliest_call(caller, clear);
  return caller.earliest <= clear;
}

/// A lower bound of when the next such call begins, exact enough to tell whether it can be before
/// `until`.
TimePoint Engine::earliest_call(KnownCalls::Caller& caller, TimePoint until) const {
  const std::uint32_t index = streams_[caller.stream].index;
  while (caller.next < caller.operations.size() && caller.operations[caller.next] < index)
    ++caller.next;
  if (caller.next == caller.operations.size())
    return TimePoint{Duration::picoseconds(std::numeric_limits<std::int64_t>::max())};
  const Stream& of = workload_->streams[caller.stream];
  const std::vector<Activity>& operations = of.all();
  const std::uint32_t call = caller.operations[caller.next];
  TimePoint earliest = queue_.now();
  if (call > index) earliest = earliest_end({caller.stream, call - 1});
  const std::uint32_t last = std::min(call, index + kMostLooked);
  for (std::uint32_t i = index; i <= last && earliest <= until; ++i)
    for (const ActivityRef& ref : operations[i].after)
      earliest = std::max(earliest, earliest_end(of.named(ref)));
  return earliest;
}

/// Of an operation: what its stream has to compute before, without what it has begun.
TimePoint Engine::earliest_end(ActivityRef ref) const {
  const std::uint32_t from = not_begun(ref.stream);
  if (ref.index < from) return queue_.now();
  const std::vector<Duration>& before = *known_->computed_before[ref.stream];
  return queue_.now() + (before[ref.index + 1] - before[from]);
}

/// The first operation of a stream that may not have begun.
std::uint32_t Engine::not_begun(std::uint32_t stream) const {
  const StreamState& state = streams_[stream];
  if (!state.computing) return state.index + 1;
  const auto ends = stream_ends_[stream].begin();
  const auto active = std::upper_bound(ends + state.index, ends + state.ahead - 1, queue_.now());
  return static_cast<std::uint32_t>(active - ends) + 1;
}

void Engine::add_up_computations() {
  std::map<const void*, std::shared_ptr<const std::vector<Duration>>> of_pattern;
  for (const Stream& stream : workload_->streams) {
    std::shared_ptr<const std::vector<Duration>>& known = of_pattern[stream.all().data()];
    if (!known) {
      std::vector<Duration> before(stream.all().size() + 1);
      for (std::size_t i = 0; i < stream.all().size(); ++i) {
        const Activity& of = stream.all()[i];
        const bool computes = of.kind == Activity::Kind::compute;
        before[i + 1] = before[i] + (computes ? of.duration : Duration{});
      }
      known = std::make_shared<const std::vector<Duration>>(std::move(before));
    }
    known_->computed_before.push_back(known);
  }
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
