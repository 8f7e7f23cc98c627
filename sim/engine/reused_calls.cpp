#include "sim/engine/reused_calls.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "sim/base/check.hpp"
#include "sim/engine/collectives.hpp"
#include "sim/engine/streams.hpp"
#include "sim/reuse/learned_ends.hpp"

namespace lockstep::engine {

namespace {

/// Streams may be ahead of the sum of their durations by so little, where those are stretched and
/// shrunk again and rounded each time.
constexpr Duration kRounding = Duration::picoseconds(1'000'000);
constexpr std::size_t kMostRivals = 64;
/// Operations before a call of a rival whose dependencies are looked at.
constexpr std::uint32_t kMostLooked = 64;

}  // namespace

ReusedCalls::ReusedCalls(const ReplayState& state, ReplaySeparately replay)
    : workload_{state.workload},
      replay_{replay},
      kinds_{find_call_classes(*state.network, *state.workload,
                               state.model == NetworkModel::alpha_beta)},
      uses_(kinds_.kinds.size()) {
  const Workload& workload = *state.workload;
  if (std::any_of(kinds_.kinds.begin(), kinds_.kinds.end(),
                  [](const CallClass& kind) { return kind.shape.works; }))
    for (std::uint32_t s = 0; s < workload.streams.size(); ++s) add_worker(workload, s);
  std::erase_if(workers_at_, [](const auto& at) { return at.second.size() < 2; });
  own_calls_.assign(workload.streams.size(), kNone);
  add_up_computations(workload);
  find_rivals(workload);
}

void ReusedCalls::join(const Siblings& siblings) {
  state_ = &siblings.state;
  collectives_ = &siblings.collectives;
  streams_ = &siblings.streams;
}

/// For each group, the streams whose calls and messages can be on its links. A group with many is
/// not known: every call would have to look at all of them.
void ReusedCalls::find_rivals(const Workload& workload) {
  const std::vector<CallGroup>& groups = kinds_.groups;
  replayed_.assign(groups.size(), 0);
  messages_.assign(groups.size(), 0);
  rivals_of_.resize(groups.size());
  std::vector<std::vector<std::uint32_t>> rivals_of(groups.size());  // inverse of CallGroup::rivals
  for (std::uint32_t group = 0; group < groups.size(); ++group)
    if (groups[group].is_known)
      for (const std::uint32_t rival : groups[group].rivals) rivals_of[rival].push_back(group);
  for (std::uint32_t s = 0; s < workload.streams.size(); ++s) {
    const Stream& of = workload.streams[s];
    const auto add = [&](std::uint32_t operation, const std::vector<std::uint32_t>& met) {
      for (const std::uint32_t group : met) {
        std::vector<Caller>& callers = rivals_of_[group];
        if (callers.empty() || callers.back().stream != s) callers.push_back({s});
        callers.back().operations.push_back(operation);
      }
    };
    for (const std::uint32_t i : communicating_.of(of)) {
      const Activity& operation = of.all()[i];
      if (operation.kind == Activity::Kind::collective) {
        const std::uint32_t kind = kinds_.of_call[of.member_slot(operation).call];
        add(i, rivals_of[kinds_.kinds[kind].group]);
      } else if (operation.kind == Activity::Kind::send) {
        const Correspondent to = of.end(operation);
        add(i, kinds_.crossed_by({of.endpoint, to.peer, to.tag}));
      }
    }
  }
  for (std::size_t group = 0; group < rivals_of_.size(); ++group)
    if (rivals_of_[group].size() > kMostRivals) kinds_.groups[group].is_known = false;
  for (const auto& [way, crossed] : kinds_.crossed)
    for (const std::uint32_t group : crossed)
      if (kinds_.groups[group].is_known) counts_messages_ = true;
  if (!counts_messages_) kinds_.crossed.clear();
  find_counted();
}

/// Where routes have numbers, groups of each whose messages are counted: those that are known.
void ReusedCalls::find_counted() {
  if (!counts_messages_ || routes() == nullptr) return;
  for (const auto& [way, crossed] : kinds_.crossed) {
    const std::uint32_t number = routes()->of(way).number;
    if (counted_.size() <= number) counted_.resize(number + 1);
    for (const std::uint32_t group : crossed)
      if (kinds_.groups[group].is_known) counted_[number].push_back(group);
  }
  kinds_.crossed.clear();
}

/// Calls whose transfers are on links, of groups whose rivals must know.
void ReusedCalls::count_replayed(std::uint32_t call, bool begins) {
  std::uint32_t& replayed = replayed_[group_of(call)];
  replayed = begins ? replayed + 1 : replayed - 1;
}

/// Messages of streams, from their sends to their arrivals.
void ReusedCalls::count_message(const MessageWay& way, bool begins) {
  if (!counts_messages_) return;
  const std::vector<std::uint32_t>& counted =
      counted_.empty() ? kinds_.crossed_by(way) : counted_[routes()->of(way).number];
  for (const std::uint32_t group : counted) {
    std::uint32_t& messages = messages_[group];
    messages = begins ? messages + 1 : messages - 1;
  }
}

void ReusedCalls::add_worker(const Workload& workload, std::uint32_t stream) {
  const Stream& of = workload.streams[stream];
  Caller worker{stream};
  const std::vector<Activity>& operations = of.all();
  for (const std::uint32_t i : communicating_.of(of)) {
    if (operations[i].kind != Activity::Kind::collective) continue;
    const std::uint32_t kind = kinds_.of_call[of.member_slot(operations[i]).call];
    if (kinds_.kinds[kind].shape.works) worker.operations.push_back(i);
  }
  if (!worker.operations.empty()) workers_at_[of.endpoint].push_back(std::move(worker));
}

const fold::Key* ReusedCalls::shape_of_private(std::uint32_t call) const {
  const CallClass& kind = kinds_.kinds[kinds_.of_call[call]];
  const bool alone = kinds_.groups[kind.group].is_known && rivals_of_[kind.group].empty();
  if (!alone) return nullptr;
  const std::vector<EndpointId>& members = workload_->calls[call].members;
  const bool works = kind.shape.works &&
                     std::any_of(members.begin(), members.end(),
                                 [&](EndpointId member) { return workers_at_.contains(member); });
  return works ? nullptr : &kind.shape.key;
}

bool ReusedCalls::offer(std::uint32_t call, std::uint32_t member) {
  if (collectives_->call(call).first_lane != kNone || collectives_->call(call).held) return false;
  if (!kinds_.groups[group_of(call)].is_known) return false;
  if (state_->workload->calls[call].members.size() == 1) return begin_known(call);
  offers_.push_back({call, member});
  collectives_->offer(call);
  return true;
}

void ReusedCalls::begin_offered() {
  const std::vector<Offer> offers = std::exchange(offers_, {});
  for (const auto& [call, member] : offers) {
    const CallState& state = collectives_->call(call);
    if (state.members_left == 0) continue;  // with the first of its members
    const bool all = state.awaited == state_->workload->calls[call].members.size();
    if (!(all && state.first_lane == kNone && !state.held && begin_known(call)))
      collectives_->begin_lanes(call, member);
  }
}

void ReusedCalls::begin_together(std::uint32_t call) {
  LOCKSTEP_CHECK(begin_known(call));
}

/// False where it has to be replayed.
bool ReusedCalls::begin_known(std::uint32_t call) {
  const std::uint32_t kind = kinds_.of_call[call];
  const Outcome& outcome = outcome_of(kinds_.kinds[kind]);
  if (!outcome.together) return false;
  const TimePoint end = state_->now() + outcome.takes;
  if (!meets_no_rival(call, end)) return false;
  if (kinds_.kinds[kind].shape.works) {
    const auto members = static_cast<std::uint32_t>(state_->workload->calls[call].members.size());
    for (std::uint32_t member = 0; member < members; ++member)
      if (!works_alone(call, member, end)) return false;
  }
  ++uses_[kind];
  collectives_->begin_known(call, end);
  return true;
}

const ReusedCalls::Outcome& ReusedCalls::outcome_of(const CallClass& kind) {
  const auto [found, is_new] = outcomes_.try_emplace(kind.shape.key);
  if (is_new) found->second = replayed_alone(kind);
  return found->second;
}

ReusedCalls::Outcome ReusedCalls::replayed_alone(const CallClass& kind) const {
  const CollectiveCall& of = state_->workload->calls[kind.call];
  Workload alone;
  alone.calls.push_back({of.name, of.schedule, of.members, of.block});
  alone.calls.front().traffic_weight = of.traffic_weight;
  const auto [result, carried] = replay_(*state_->network, alone, state_->model);
  const std::vector<TimePoint>& ends = result.call_ends.front();
  Outcome out;
  out.together =
      result.unfinished.empty() &&
      std::all_of(ends.begin(), ends.end(), [&](TimePoint end) { return end == ends.front(); });
  out.takes = ends.front().since_start();
  for (const LinkId link : kind.shape.links) out.carried.push_back(carried[link]);
  out.transfers = result.transfers;
  return out;
}

std::vector<TimePoint> ReusedCalls::replayed_alone(std::uint32_t call,
                                                   const std::vector<TimePoint>& begins) const {
  const CollectiveCall& of = workload_->calls[call];
  const Network network = network_of_call(
      *state_->network, of, kinds_.kinds[kinds_.of_call[call]].shape.ways, *kinds_.routes);
  Workload alone;
  alone.calls.push_back({of.name, of.schedule, {}, of.block, begins});
  for (EndpointId member = 0; member < of.members.size(); ++member)
    alone.calls.front().members.push_back(member);
  alone.calls.front().traffic_weight = of.traffic_weight;
  ReplayResult result = replay_(network, alone, state_->model).result;
  LOCKSTEP_CHECK(result.unfinished.empty());
  return std::move(result.call_ends.front());
}

/// Whether no other call can have a member's end point reduce or copy before `until`.
bool ReusedCalls::works_alone(std::uint32_t call, std::uint32_t member, TimePoint until) {
  const auto found = workers_at_.find(state_->workload->calls[call].members[member]);
  if (found == workers_at_.end()) return true;
  const std::uint32_t own = collectives_->caller(call, member);
  return std::none_of(found->second.begin(), found->second.end(), [&](Caller& worker) {
    return worker.stream != own && calls_before(worker, until);
  });
}

/// Whether no other call can use the links of this one before `until`.
bool ReusedCalls::meets_no_rival(std::uint32_t call, TimePoint until) {
  const std::uint32_t group = group_of(call);
  const std::vector<std::uint32_t>& rivals = kinds_.groups[group].rivals;
  if (rivals_of_[group].empty()) return true;
  if (messages_[group] > 0) return false;
  if (std::any_of(rivals.begin(), rivals.end(),
                  [&](std::uint32_t rival) { return replayed_[rival] > 0; }))
    return false;
  // Its own streams come to other calls after it.
  for (std::uint32_t member = 0; member < state_->workload->calls[call].members.size(); ++member)
    if (const std::uint32_t own = collectives_->caller(call, member); own != kNone)
      own_calls_[own] = call;
  std::vector<Caller>& callers = rivals_of_[group];
  return std::none_of(callers.begin(), callers.end(), [&](Caller& caller) {
    return own_calls_[caller.stream] != call && calls_before(caller, until);
  });
}

/// Whether a stream can come to the next of these calls before `until`, or is in one.
bool ReusedCalls::calls_before(Caller& caller, TimePoint until) const {
  const TimePoint clear = until + kRounding;
  if (caller.earliest > clear) return false;
  caller.earliest = earliest_call(caller, clear);
  return caller.earliest <= clear;
}

/// A lower bound of when the next such call begins, exact enough to tell whether it can be before
/// `until`.
TimePoint ReusedCalls::earliest_call(Caller& caller, TimePoint until) const {
  streams_->catch_up(caller.stream);
  const std::uint32_t index = (*streams_)[caller.stream].index;
  while (caller.next < caller.operations.size() && caller.operations[caller.next] < index)
    ++caller.next;
  if (caller.next == caller.operations.size())
    return TimePoint{Duration::picoseconds(std::numeric_limits<std::int64_t>::max())};
  const Stream& of = state_->workload->streams[caller.stream];
  const std::vector<Activity>& operations = of.all();
  const std::uint32_t call = caller.operations[caller.next];
  TimePoint earliest = state_->now();
  if (call > index) earliest = earliest_end({caller.stream, call - 1});
  const std::uint32_t last = std::min(call, index + kMostLooked);
  for (std::uint32_t i = index; i <= last && earliest <= until; ++i)
    for (const ActivityRef& ref : operations[i].after)
      earliest = std::max(earliest, earliest_end(of.named(ref)));
  return earliest;
}

/// Of an operation: what its stream has to compute before, without what it has begun.
TimePoint ReusedCalls::earliest_end(ActivityRef ref) const {
  streams_->catch_up(ref.stream);
  const std::uint32_t from = streams_->not_begun(ref.stream);
  if (ref.index < from) return state_->now();
  const std::vector<Duration>& before = *computed_before_[ref.stream];
  return state_->now() + (before[ref.index + 1] - before[from]);
}

void ReusedCalls::add_up_computations(const Workload& workload) {
  std::map<const void*, std::shared_ptr<const std::vector<Duration>>> of_pattern;
  for (const Stream& stream : workload.streams) {
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
    computed_before_.push_back(known);
  }
}

void ReusedCalls::add_to(std::vector<UInt128>& carried, std::uint64_t& transfers) const {
  for (std::size_t kind = 0; kind < uses_.size(); ++kind) {
    if (uses_[kind] == 0) continue;
    const CallShape& shape = kinds_.kinds[kind].shape;
    const Outcome& outcome = outcomes_.at(shape.key);
    for (std::size_t i = 0; i < shape.links.size(); ++i)
      carried[shape.links[i]] += outcome.carried[i] * uses_[kind];
    transfers += outcome.transfers * uses_[kind];
  }
}

}  // namespace lockstep::engine
