#include "sim/engine/collectives.hpp"

#include <algorithm>
#include <utility>

#include "sim/base/check.hpp"
#include "sim/engine/held_calls.hpp"
#include "sim/engine/reused_calls.hpp"
#include "sim/engine/streams.hpp"
#include "sim/schedule/schedule_traits.hpp"

namespace lockstep::engine {

Collectives::Collectives(const ReplayState& state)
    : first_party_{static_cast<std::uint32_t>(state.network->endpoints.size())} {
  const std::vector<CollectiveCall>& calls = state.workload->calls;
  std::size_t members = 0;
  for (const CollectiveCall& call : calls) members += call.members.size();
  calls_.reserve(calls.size());
  ends_.reserve(calls.size());
  members_.reserve(members);
  for (const CollectiveCall& call : calls) add(call);
}

void Collectives::join(const Siblings& siblings) {
  state_ = &siblings.state;
  transfers_ = &siblings.transfers;
  work_ = &siblings.work;
  streams_ = &siblings.streams;
  reused_ = siblings.reused;
  held_ = siblings.held;
}

void Collectives::add(const CollectiveCall& call) {
  const auto members = static_cast<std::uint32_t>(call.members.size());
  CallState state;
  state.first_party = first_party_ + static_cast<std::uint32_t>(members_.size());
  state.members_left = members;
  state.first_of_all = lane_count_;
  state.turns = dynamic_cast<const TurnsAtEndpoints*>(call.schedule.get());
  if (call.takes) {
    state.lanes = 0;
    state.awaited = members;
  } else {
    LOCKSTEP_CHECK(call.schedule->ranks() == static_cast<int>(members));
    LOCKSTEP_CHECK(call.schedule->lanes() >= 1);
    LOCKSTEP_CHECK(call.schedule->slots() >= 0);
    LOCKSTEP_CHECK(call.starts.empty() || call.starts.size() == members);
    for (const EndpointId member : call.members) LOCKSTEP_CHECK(member < first_party_);
    state.lanes = static_cast<std::uint32_t>(call.schedule->lanes());
    state.sizes.emplace(*call.schedule);
  }
  lane_count_ += std::uint64_t{members} * state.lanes;
  calls_.push_back(std::move(state));
  members_.resize(members_.size() + members);
  ends_.emplace_back(members);
}

void Collectives::set_caller(std::uint32_t call, std::uint32_t member, std::uint32_t stream) {
  LOCKSTEP_CHECK(call < calls_.size());
  const CollectiveCall& of = state_->workload->calls[call];
  LOCKSTEP_CHECK(member < of.members.size());
  LOCKSTEP_CHECK(of.members[member] == state_->workload->streams[stream].endpoint);
  std::uint32_t& caller = member_state(call, member).stream;
  LOCKSTEP_CHECK(caller == kNone || caller == stream);
  caller = stream;
}

bool Collectives::share_ends() const {
  std::vector<bool> taken(state_->network->endpoints.size(), false);
  for (std::size_t id = 0; id < calls_.size(); ++id) {
    const CollectiveCall& call = state_->workload->calls[id];
    for (std::uint32_t i = 0; i < call.members.size() * calls_[id].lanes; ++i) {
      const std::uint32_t member = i / calls_[id].lanes;
      const auto lane = static_cast<int>(i % calls_[id].lanes);
      if (call.schedule->steps(static_cast<int>(member), lane) == 0) continue;
      if (taken[call.members[member]]) return true;
      taken[call.members[member]] = true;
    }
  }
  return false;
}

void Collectives::begin_uncalled() {
  for (std::uint32_t call = 0; call < calls_.size(); ++call) {
    const auto& starts = state_->workload->calls[call].starts;
    if (starts.empty() && follows(call)) continue;
    for (std::uint32_t member = 0; member < ends_[call].size(); ++member) {
      if (caller(call, member) != kNone) continue;
      if (starts.empty() || starts[member] == TimePoint{}) {
        begin_member(call, member);
      } else {
        state_->queue.push(make_event(EventKind::begins, party(call, member), starts[member]));
      }
    }
  }
}

/// Whether streams call some of the members and not others, which then wait for those.
bool Collectives::follows(std::uint32_t call) {
  std::size_t called = 0;
  const std::size_t members = ends_[call].size();
  for (std::uint32_t member = 0; member < members; ++member)
    called += caller(call, member) != kNone ? 1 : 0;
  calls_[call].has_followers =
      called > 0 && called < members && !state_->workload->calls[call].takes;
  return calls_[call].has_followers;
}

std::uint32_t Collectives::call_of_party(std::uint32_t party) const {
  const auto after =
      std::upper_bound(calls_.begin(), calls_.end(), party,
                       [](std::uint32_t p, const CallState& call) { return p < call.first_party; });
  return static_cast<std::uint32_t>(after - calls_.begin()) - 1;
}

std::uint32_t Collectives::member_of(std::uint32_t party) const {
  return party < first_party_ ? party : party - calls_[call_of_party(party)].first_party;
}

EndpointId Collectives::endpoint_of_party(Track lane, std::uint32_t party) const {
  const std::uint32_t call = lanes_[lane].call;
  return state_->workload->calls[call].members[party - calls_[call].first_party];
}

ConnectionKey Collectives::connection(Track from, Track to, std::uint32_t channel) const {
  const std::uint32_t first = calls_[lanes_[from].call].first_party;
  return {first + lanes_[from].member, first + lanes_[to].member, channel};
}

std::uint64_t Collectives::number_of(const Lane& lane) const {
  const CallState& call = calls_[lane.call];
  return call.first_of_all + std::uint64_t{lane.member} * call.lanes + lane.lane;
}

std::uint64_t Collectives::order_of(Track id) const {
  const Lane& lane = lanes_[id];
  const TurnsAtEndpoints* turns = calls_[lane.call].turns;
  if (turns == nullptr) return number_of(lane);
  return (std::uint64_t{turns->turn(static_cast<int>(lane.member))} << 32U) + lane.lane;
}

/// Room for the lanes of a call: where as many have ended, or new.
void Collectives::add_lanes(std::uint32_t call_id) {
  const CollectiveCall& call = state_->workload->calls[call_id];
  CallState& state = calls_[call_id];
  const auto members = static_cast<std::uint32_t>(call.members.size());
  std::vector<std::uint32_t>& spare = spare_lanes_[members * state.lanes];
  if (spare.empty()) {
    spare.push_back(static_cast<std::uint32_t>(lanes_.size()));
    lanes_.resize(lanes_.size() + std::size_t{members} * state.lanes);
    LOCKSTEP_CHECK(lanes_.size() <= kStream);
  }
  state.first_lane = spare.back();
  spare.pop_back();
  if (reused_ != nullptr) reused_->count_replayed(call_id, true);
  ++in_flight_;
  state.phases = call.schedule->phases();
  auto next = lanes_.begin() + state.first_lane;
  for (std::uint32_t member = 0; member < members; ++member) {
    member_state(call_id, member).lanes_left = state.lanes;
    for (std::uint32_t lane = 0; lane < state.lanes; ++lane)
      *next++ = {
          .step = first_step(*call.schedule, static_cast<int>(member), static_cast<int>(lane)),
          .steps = call.schedule->steps(static_cast<int>(member), static_cast<int>(lane)),
          .call = call_id,
          .member = member,
          .lane = lane,
          .endpoint = call.members[member],
          .bound = {}};
  }
}

/// Once all its members have ended: nothing refers to its lanes any more.
void Collectives::give_back_lanes(std::uint32_t call_id) {
  CallState& state = calls_[call_id];
  const auto members = static_cast<std::uint32_t>(ends_[call_id].size());
  spare_lanes_[members * state.lanes].push_back(state.first_lane);
  state.first_lane = kNone;
  state.phases = {};
  if (reused_ != nullptr) reused_->count_replayed(call_id, false);
  --in_flight_;
}

std::int64_t Collectives::permille_during(std::uint32_t call) const {
  return state_->workload->permille_during(state_->workload->calls[call]);
}

void Collectives::begin_member(std::uint32_t call, std::uint32_t member) {
  CallState& state = calls_[call];
  if (state.members_left == 0) begin_again(call);
  if (const std::uint32_t stream = caller(call, member); stream != kNone) {
    streams_->communicates(stream, permille_during(call), true);
    if (ends_[call].size() > 1 && streams_->leads(stream)) {
      reused_->begin_together(call);
      return;
    }
  }
  if (const auto& takes = state_->workload->calls[call].takes; takes) {
    LOCKSTEP_CHECK(state.awaited > 0);
    if (--state.awaited == 0)
      state_->queue.push(make_event(EventKind::met, call, state_->now() + *takes));
    return;
  }
  if (std::exchange(state.has_followers, false)) begin_followers(call);
  begin_or_offer(call, member);
}

/// Those that no stream calls, such as switches that reduce for the others.
void Collectives::begin_followers(std::uint32_t call) {
  for (std::uint32_t member = 0; member < ends_[call].size(); ++member)
    if (caller(call, member) == kNone) begin_or_offer(call, member);
}

void Collectives::begin_or_offer(std::uint32_t call, std::uint32_t member) {
  if (reused_ == nullptr || !reused_->offer(call, member)) begin_lanes(call, member);
}

/// A call that all of its members have ended.
void Collectives::begin_again(std::uint32_t call) {
  CallState& state = calls_[call];
  LOCKSTEP_CHECK(!state.known && !state.held && state.first_lane == kNone);
  state.members_left = static_cast<std::uint32_t>(ends_[call].size());
  state.awaited = state_->workload->calls[call].takes ? state.members_left : 0;
}

void Collectives::begin_lanes(std::uint32_t call, std::uint32_t member) {
  streams_->replays(caller(call, member));
  if (held_ != nullptr && calls_[call].first_lane == kNone && held_->hold(call, member)) return;
  replay_member(call, member);
}

void Collectives::replay_member(std::uint32_t call, std::uint32_t member) {
  CallState& state = calls_[call];
  if (state.first_lane == kNone) add_lanes(call);
  if (member == transfers_->frontier().member_index()) return;
  const Track first = first_track(call, member);
  for (Track lane = first; lane < first + state.lanes; ++lane) {
    LOCKSTEP_CHECK(!std::exchange(lanes_[lane].begun, true));
    state_->ready.push_back(lane);
  }
}

void Collectives::count_held(std::uint32_t call, bool begins) {
  calls_[call].held = begins;
  reused_->count_replayed(call, begins);
  in_flight_ += begins ? 1U : ~0U;
}

void Collectives::replay_held(std::uint32_t call) {
  calls_[call].members_left = static_cast<std::uint32_t>(ends_[call].size());
}

void Collectives::end_held(std::uint32_t call, std::uint32_t member) {
  finish_member(call, member);
  member_state(call, member).told = true;
  if (--calls_[call].members_left > 0) return;
  for (std::uint32_t each = 0; each < ends_[call].size(); ++each)
    member_state(call, each).told = false;
}

void Collectives::begin_known(std::uint32_t call, TimePoint until) {
  set_known(call, until);
  state_->queue.push(make_event(EventKind::met, call, until));
}

void Collectives::set_known(std::uint32_t call, TimePoint until) {
  CallState& state = calls_[call];
  state.members_left = 0;
  state.until = until;
  state.known = true;
}

void Collectives::end_known(std::uint32_t call, std::uint32_t member, TimePoint at) {
  set_known(call, at);
  calls_[call].known = false;
  ends_[call][member] = at;
}

void Collectives::finish_lane(const Lane& lane) {
  const std::uint32_t call = lane.call;
  if (--member_state(call, lane.member).lanes_left > 0) return;
  finish_member(call, lane.member);
  if (--calls_[call].members_left == 0) give_back_lanes(call);
}

void Collectives::finish_member(std::uint32_t call, std::uint32_t member) {
  if (std::exchange(member_state(call, member).told, false)) {
    LOCKSTEP_CHECK(ends_[call][member] == state_->now());
    return;
  }
  ends_[call][member] = state_->now();
  state_->end = state_->now();
  const std::uint32_t stream = caller(call, member);
  if (stream == kNone) return;
  streams_->communicates(stream, permille_during(call), false);
  streams_->finish_operation(stream);
}

std::uint32_t Collectives::member_called_by(std::uint32_t call, std::uint32_t stream) const {
  std::uint32_t member = 0;
  while (caller(call, member) != stream) ++member;
  return member;
}

/// Asks for what the streams of all members read when the call ends.
void Collectives::fetch_callers(std::uint32_t call) const {
  const auto members = static_cast<std::uint32_t>(ends_[call].size());
  const auto each = [&](auto visit) {
    for (std::uint32_t member = 0; member < members; ++member)
      if (const std::uint32_t by = caller(call, member); by != kNone) visit(by);
  };
  each([&](std::uint32_t stream) { streams_->fetch(stream); });
  each([&](std::uint32_t stream) { streams_->fetch_next(stream); });
  each([&](std::uint32_t stream) { streams_->fetch_others(stream); });
}

void Collectives::finish_timed(std::uint32_t call) {
  CallState& state = calls_[call];
  if (!state_->workload->calls[call].takes) {
    if (!state.known || state.until != state_->now()) return;  // an event of a followed record
    const std::uint32_t by = caller(call, 0);
    if (by != kNone && ends_[call].size() > 1) {
      if (const std::uint32_t first = streams_->ends_for_all(by); first != kNone) {
        state.known = false;
        finish_member(call, member_called_by(call, first));
        return;
      }
    }
    if (by != kNone && streams_->follows(by)) return;
    state.known = false;
  }
  if (ends_[call].size() > 1) fetch_callers(call);
  for (std::uint32_t member = 0; member < ends_[call].size(); ++member) finish_member(call, member);
}

}  // namespace lockstep::engine
