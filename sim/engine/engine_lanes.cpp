#include "sim/engine/engine.hpp"

#include <algorithm>

#include "sim/check.hpp"

namespace lockstep {

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
  state.phases = call.schedule->phases();
  auto next = lanes_.begin() + state.first_lane;
  for (std::uint32_t member = 0; member < members; ++member) {
    member_state(call_id, member).lanes_left = state.lanes;
    for (std::uint32_t lane = 0; lane < state.lanes; ++lane)
      *next++ = {.steps = call.schedule->steps(static_cast<int>(member), static_cast<int>(lane)),
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
}

void Engine::begin_member(std::uint32_t call, std::uint32_t member) {
  CallState& state = calls_[call];
  if (member_state(call, member).stream != kNone)
    communicates(workload_->calls[call].members[member], 1);
  if (const auto& takes = workload_->calls[call].takes; takes) {
    LOCKSTEP_CHECK(state.awaited > 0);
    if (--state.awaited == 0) queue_.push(make_event(Kind::met, call, queue_.now() + *takes));
    return;
  }
  if (!offer(call, member)) begin_lanes(call, member);
}

void Engine::begin_lanes(std::uint32_t call, std::uint32_t member) {
  CallState& state = calls_[call];
  if (state.first_lane == kNone) add_lanes(call);
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
    if (lane.repeats_left > 0 && repeat_step(lane)) return;
    if (lane.bound_send != kNone) unbind(lane.bound_send);
    if (lane.bound_receive != kNone) unbind(lane.bound_receive);
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
      plan_repeats(lane);
      post_step(lane_id);
      return;
    }
    if (begin_local_work(lane_id)) return;
    ++lane.step;
    if (blocked_lanes_ > 0) wake_blocked_lanes(lane);
  }
}

/// Posts the step again whose transfers are bound. False if the schedule has to be asked.
bool Engine::repeat_step(Lane& lane) {
  const std::uint32_t bound =
      (lane.bound_send != kNone ? 1U : 0U) + (lane.bound_receive != kNone ? 1U : 0U);
  if (bound != lane.pattern) return false;
  --lane.repeats_left;
  lane.outstanding = bound;
  if (lane.bound_receive != kNone) post_bound(lane.bound_receive, Transfer::kReceiver);
  if (lane.bound_send != kNone) post_bound(lane.bound_send, Transfer::kSender);
  return true;
}

void Engine::plan_repeats(Lane& lane) {
  lane.repeats_left = 0;
  if (step_.sends.size() > 1 || step_.receives.size() > 1 || !step_.locals.empty()) return;
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
  return std::all_of(step_.after.begin(), step_.after.end(), [&](const StepRef& ref) {
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

/// False where there is none, or none that takes time.
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

void Engine::post_step(std::uint32_t lane_id) {
  const Lane& lane = lanes_[lane_id];
  const std::uint32_t party = calls_[lane.call].first_party;
  const CollectiveCall& call = workload_->calls[lane.call];
  const std::int64_t block = call.block.count();
  const int slots = call.schedule->slots();
  const bool repeats = lane.repeats_left > 0;
  for (const Receive& receive : step_.receives)
    post({party + static_cast<std::uint32_t>(receive.peer), party + lane.member,
          static_cast<std::uint32_t>(receive.channel)},
         {lane_id, false, receive.combine == Combine::reduce, repeats,
          step_.blocks_of(receive) * block, 0, receive.times},
         slots);
  for (const Send& send : step_.sends)
    post({party + lane.member, party + static_cast<std::uint32_t>(send.peer),
          static_cast<std::uint32_t>(send.channel)},
         {lane_id, true, false, repeats, step_.blocks_of(send) * block, next_order_++, 1, instant_},
         slots);
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
  communicates(workload_->calls[call].members[member], -1);
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
