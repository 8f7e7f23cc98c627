#include "sim/engine/engine.hpp"

#include <algorithm>
#include <utility>

#include "sim/base/check.hpp"
#include "sim/schedule/schedule_traits.hpp"

namespace lockstep {
namespace {

/// Whether two of a step's messages go one after the other: a connection's messages are matched in
/// order, so that these cannot be bound one by one. Too many to look through count as such.
template <typename Message>
bool shares_connection(const std::vector<Message>& messages) {
  constexpr std::size_t kMost = 8;
  if (messages.size() > kMost) return true;
  for (std::size_t i = 1; i < messages.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (messages[i].peer == messages[j].peer && messages[i].channel == messages[j].channel)
        return true;
  return false;
}

}  // namespace

// Lanes of collectives: step after step of a schedule.

std::uint32_t Engine::call_of_party(std::uint32_t party) const {
  const auto after =
      std::upper_bound(calls_.begin(), calls_.end(), party,
                       [](std::uint32_t p, const CallState& call) { return p < call.first_party; });
  return static_cast<std::uint32_t>(after - calls_.begin()) - 1;
}

std::uint64_t Engine::order_of(std::uint32_t track) const {
  if (!is_lane(track)) return lane_count_ + (track - kStream);
  const Lane& lane = lanes_[track];
  const CallState& call = calls_[lane.call];
  return call.order + std::uint64_t{lane.member} * call.lanes + lane.lane;
}

/// Room for the lanes of a call: where as many have ended, or new.
void Engine::add_lanes(std::uint32_t call_id) {
  const CollectiveCall& call = workload_->calls[call_id];
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
  count_replayed(call_id, true);
  ++on_links_;
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
          .endpoint = call.members[member]};
  }
}

/// Once all its members have ended: nothing speaks of its lanes any more.
void Engine::give_back_lanes(std::uint32_t call_id) {
  CallState& state = calls_[call_id];
  const auto members = static_cast<std::uint32_t>(workload_->calls[call_id].members.size());
  spare_lanes_[members * state.lanes].push_back(state.first_lane);
  state.first_lane = kNone;
  state.phases = {};
  count_replayed(call_id, false);
  --on_links_;
}

void Engine::begin_member(std::uint32_t call, std::uint32_t member) {
  CallState& state = calls_[call];
  if (state.members_left == 0) begin_again(call);
  if (const std::uint32_t stream = member_state(call, member).stream; stream != kNone)
    communicates(workload_->streams[stream].endpoint, 1);
  if (const auto& takes = workload_->calls[call].takes; takes) {
    LOCKSTEP_CHECK(state.awaited > 0);
    if (--state.awaited == 0) queue_.push(make_event(Kind::met, call, queue_.now() + *takes));
    return;
  }
  if (std::exchange(state.has_followers, false)) begin_followers(call);
  if (!offer(call, member)) begin_lanes(call, member);
}

/// Those that no stream calls, such as switches that reduce for the others.
void Engine::begin_followers(std::uint32_t call) {
  const auto members = static_cast<std::uint32_t>(workload_->calls[call].members.size());
  for (std::uint32_t member = 0; member < members; ++member)
    if (member_state(call, member).stream == kNone && !offer(call, member))
      begin_lanes(call, member);
}

/// A call of one member that has ended.
void Engine::begin_again(std::uint32_t call) {
  LOCKSTEP_CHECK(workload_->calls[call].members.size() == 1);
  calls_[call].members_left = 1;
  if (workload_->calls[call].takes) calls_[call].awaited = 1;
}

void Engine::begin_lanes(std::uint32_t call, std::uint32_t member) {
  CallState& state = calls_[call];
  if (state.first_lane == kNone) add_lanes(call);
  if (member == external_member_index_) return;
  const std::uint32_t first = state.first_lane + member * state.lanes;
  for (std::uint32_t lane = first; lane < first + state.lanes; ++lane) {
    lanes_[lane].begun = true;
    ready_.push_back(lane);
  }
}

/// Goes on with a lane whose present step has not been posted yet.
void Engine::run_lane(std::uint32_t lane_id) {
  Lane& lane = lanes_[lane_id];
  for (;;) {
    if (lane.repeats_left > 0) {
      repeat_step(lane_id);
      return;
    }
    unbind_all(lane);
    if (lane.step == lane.steps) {
      finish_lane(lane);
      return;
    }
    step_.clear();
    workload_->calls[lane.call].schedule->step(static_cast<int>(lane.member),
                                               static_cast<int>(lane.lane), lane.step, step_);
    if (!step_.after.empty() && !dependencies_met(lane)) {
      lane.blocked = true;
      ++blocked_lanes_;
      return;
    }
    lane.outstanding = static_cast<std::uint32_t>(step_.sends.size() + step_.receives.size());
    plan_local_work(lane);
    if (lane.outstanding > 0) {
      graph_repeats(lane);
      post_step(lane_id);
      return;
    }
    if (begin_local_work(lane_id)) return;
    end_step(lane);
  }
}

void Engine::end_step(Lane& lane) {
  ++lane.step;
  const TransferId sent_on = std::exchange(lane.holds, std::exchange(lane.took, kNone));
  if (sent_on != kNone) free_slot(sent_on);
  if (blocked_lanes_ > 0) wake_blocked_lanes(lane);
}

/// Posts the step's pattern again; the schedule has to be asked only while some of its transfers
/// are not bound.
void Engine::repeat_step(std::uint32_t lane_id) {
  Lane& lane = lanes_[lane_id];
  --lane.repeats_left;
  lane.outstanding = lane.pattern;
  if (lane.bound != lane.pattern) {
    step_.clear();
    workload_->calls[lane.call].schedule->step(static_cast<int>(lane.member),
                                               static_cast<int>(lane.lane), lane.step, step_);
    post_step(lane_id);
    return;
  }
  for (TransferId id = lane.first_received; id != kNone; id = transfers_[id].next_received)
    post_bound(id, Transfer::kReceiver);
  for (TransferId id = lane.first_sent; id != kNone; id = transfers_[id].next_sent)
    post_bound(id, Transfer::kSender);
}

void Engine::graph_repeats(Lane& lane) {
  lane.repeats_left = 0;
  if (!step_.locals.empty() || shares_connection(step_.sends) || shares_connection(step_.receives))
    return;
  if (workload_->calls[lane.call].schedule->slots() > 0) return;
  lane.pattern = lane.outstanding;
  const auto& phases = calls_[lane.call].phases;
  const auto after =
      std::upper_bound(phases.begin(), phases.end(), lane.step,
                       [](std::int64_t step, const Phase& phase) { return step < phase.first; });
  if (after == phases.begin()) return;
  const Phase& phase = *std::prev(after);
  const std::int64_t end = std::min(phase.first + phase.count, lane.steps);
  lane.repeats_left = std::max<std::int64_t>(0, end - 1 - lane.step);
}

bool Engine::dependencies_met(const Lane& lane) const {
  const CallState& state = calls_[lane.call];
  const std::uint32_t first = state.first_lane + lane.member * state.lanes;
  return std::all_of(step_.after.begin(), step_.after.end(), [&](const ScheduleStepRef& ref) {
    return lanes_[first + static_cast<std::uint32_t>(ref.lane)].step > ref.step;
  });
}

/// Adds up what the step does in the rank's own memory.
void Engine::plan_local_work(Lane& lane) const {
  lane.to_reduce = lane.to_copy = 0;
  const std::int64_t block = workload_->calls[lane.call].block.count();
  for (const LocalOperation& local : step_.locals)
    (local.combine == Combine::reduce ? lane.to_reduce : lane.to_copy) += local.to.count * block;
}

/// False if there is none, or none that takes time.
bool Engine::begin_local_work(std::uint32_t lane_id) {
  Lane& lane = lanes_[lane_id];
  const Endpoint& endpoint = network_->endpoints[lane.endpoint];
  const auto begin = [&](std::int64_t bytes, const std::optional<Rate>& rate, bool copies) {
    if (bytes == 0 || !rate) return;
    ++lane.outstanding;
    add_work({lane_id, copies, bytes, Kind::done, lane_id});
  };
  begin(lane.to_reduce, endpoint.reduce_rate, false);
  begin(lane.to_copy, endpoint.copy_rate, true);
  lane.to_reduce = lane.to_copy = 0;
  return lane.outstanding > 0;
}

/// What is bound of the step is only marked as reached again.
void Engine::post_step(std::uint32_t lane_id) {
  post_receives(lane_id);
  post_sends(lane_id);
}

void Engine::post_receives(std::uint32_t lane_id) {
  const Lane& lane = lanes_[lane_id];
  const std::uint32_t party = calls_[lane.call].first_party;
  const CollectiveCall& call = workload_->calls[lane.call];
  TransferId bound = lane.first_received;  // the next of them
  for (std::uint32_t place = 0; place < step_.receives.size(); ++place) {
    if (bound != kNone && transfers_[bound].receive_place == place) {
      post_bound(std::exchange(bound, transfers_[bound].next_received), Transfer::kReceiver);
      continue;
    }
    const Receive& receive = step_.receives[place];
    post({party + static_cast<std::uint32_t>(receive.peer), party + lane.member,
          static_cast<std::uint32_t>(receive.channel)},
         {lane_id, false, receive.combine == Combine::reduce, lane.repeats_left > 0,
          step_.blocks_of(receive) * call.block.count(), 0, receive.times, 0, place,
          receive.forwarded},
         call.schedule->slots());
  }
}

void Engine::post_sends(std::uint32_t lane_id) {
  const Lane& lane = lanes_[lane_id];
  const std::uint32_t party = calls_[lane.call].first_party;
  const CollectiveCall& call = workload_->calls[lane.call];
  TransferId bound = lane.first_sent;
  for (std::uint32_t place = 0; place < step_.sends.size(); ++place) {
    if (bound != kNone && transfers_[bound].send_place == place) {
      post_bound(std::exchange(bound, transfers_[bound].next_sent), Transfer::kSender);
      continue;
    }
    const Send& send = step_.sends[place];
    post({party + lane.member, party + static_cast<std::uint32_t>(send.peer),
          static_cast<std::uint32_t>(send.channel)},
         {lane_id, true, false, lane.repeats_left > 0, step_.blocks_of(send) * call.block.count(),
          next_order_++, 1, instant_, place},
         call.schedule->slots());
  }
}

void Engine::finish_lane(const Lane& lane) {
  const std::uint32_t call = lane.call;
  if (--member_state(call, lane.member).lanes_left > 0) return;
  finish_member(call, lane.member);
  if (--calls_[call].members_left == 0) give_back_lanes(call);
}

void Engine::finish_member(std::uint32_t call, std::uint32_t member) {
  call_ends_[call][member] = queue_.now();
  end_ = queue_.now();
  const std::uint32_t stream = member_state(call, member).stream;
  if (stream == kNone) return;
  communicates(workload_->streams[stream].endpoint, -1);
  finish_operation(stream);
}

void Engine::finish_timed_call(std::uint32_t call) {
  for (std::uint32_t member = 0; member < call_ends_[call].size(); ++member)
    finish_member(call, member);
}

void Engine::wake_blocked_lanes(const Lane& done) {
  const CallState& state = calls_[done.call];
  const std::uint32_t first = state.first_lane + done.member * state.lanes;
  for (std::uint32_t id = first; id < first + state.lanes; ++id) {
    if (!lanes_[id].blocked) continue;
    lanes_[id].blocked = false;
    --blocked_lanes_;
    ready_.push_back(id);  // looks at its dependencies again
  }
}

}  // namespace lockstep
