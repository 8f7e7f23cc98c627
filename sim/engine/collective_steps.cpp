#include <algorithm>
#include <utility>

#include "sim/engine/collectives.hpp"
#include "sim/engine/local_work.hpp"
#include "sim/schedule/step_ends.hpp"

namespace lockstep::engine {

// Lanes: step after step of a schedule.

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

void Collectives::read_step(const Lane& lane) {
  step_.clear();
  calls_[lane.call].sizes->read(static_cast<int>(lane.member), static_cast<int>(lane.lane),
                                lane.step, step_);
}

void Collectives::run_lane(Track lane_id) {
  Lane& lane = lanes_[lane_id];
  for (;;) {
    if (lane.repeats_left > 0) {
      repeat_step(lane_id);
      return;
    }
    transfers_->unbind_all(lane.bound);
    if (lane.step == lane.steps) {
      finish_lane(lane);
      return;
    }
    read_step(lane);
    if (!step_.after.empty() && !dependencies_met(lane)) {
      lane.blocked = true;
      ++blocked_lanes_;
      return;
    }
    lane.outstanding = static_cast<std::uint32_t>(step_.sends.size() + step_.receives.size());
    plan_local_work(lane);
    if (lane.outstanding > 0) {
      count_repeats(lane);
      post_step(lane_id);
      return;
    }
    if (begin_local_work(lane_id)) return;
    end_step(lane);
  }
}

void Collectives::step_part_done(Track lane_id) {
  Lane& lane = lanes_[lane_id];
  if (--lane.outstanding > 0) return;
  if ((lane.to_reduce > 0 || lane.to_copy > 0) && begin_local_work(lane_id)) return;
  end_step(lane);
  state_->ready.push_back(lane_id);
}

void Collectives::end_step(Lane& lane) {
  if (state_->step_ends != nullptr)
    state_->step_ends->add(number_of(lane), lane.step, state_->now().since_start().ps());
  ++lane.step;
  const TransferId sent_on = std::exchange(lane.holds, std::exchange(lane.took, kNone));
  if (sent_on != kNone) transfers_->free_slot(sent_on);
  if (blocked_lanes_ > 0) wake_blocked_lanes(lane);
}

/// Posts the step's pattern again; the schedule has to be asked only while some of its transfers
/// are not bound.
void Collectives::repeat_step(Track lane_id) {
  Lane& lane = lanes_[lane_id];
  --lane.repeats_left;
  lane.outstanding = lane.pattern;
  if (lane.bound.count != lane.pattern) {
    read_step(lane);
    post_step(lane_id);
    return;
  }
  for (TransferId id = lane.bound.first_received; id != kNone;
       id = transfers_->transfer(id).next_received)
    transfers_->post_bound(id, Transfer::kReceiver);
  for (TransferId id = lane.bound.first_sent; id != kNone; id = transfers_->transfer(id).next_sent)
    transfers_->post_bound(id, Transfer::kSender);
}

void Collectives::count_repeats(Lane& lane) {
  lane.repeats_left = 0;
  if (!step_.locals.empty() || shares_connection(step_.sends) || shares_connection(step_.receives))
    return;
  if (state_->workload->calls[lane.call].schedule->slots() > 0) return;
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

bool Collectives::dependencies_met(const Lane& lane) const {
  const Track first = first_track(lane.call, lane.member);
  return std::all_of(step_.after.begin(), step_.after.end(), [&](const ScheduleStepRef& ref) {
    return lanes_[first + static_cast<std::uint32_t>(ref.lane)].step > ref.step;
  });
}

/// Adds up what the step does in the rank's own memory.
void Collectives::plan_local_work(Lane& lane) const {
  lane.to_reduce = lane.to_copy = 0;
  const std::int64_t block = state_->workload->calls[lane.call].block.count();
  for (const LocalOperation& local : step_.locals)
    (local.combine == Combine::reduce ? lane.to_reduce : lane.to_copy) += local.to.count * block;
}

/// False if there is none, or none that takes time.
bool Collectives::begin_local_work(Track lane_id) {
  Lane& lane = lanes_[lane_id];
  const Endpoint& endpoint = state_->network->endpoints[lane.endpoint];
  const auto begin = [&](std::int64_t bytes, const std::optional<Rate>& rate, bool copies) {
    if (bytes == 0 || !rate) return;
    ++lane.outstanding;
    work_->add({lane_id, copies, bytes, EventKind::done, lane_id});
  };
  begin(lane.to_reduce, endpoint.reduce_rate, false);
  begin(lane.to_copy, endpoint.copy_rate, true);
  lane.to_reduce = lane.to_copy = 0;
  return lane.outstanding > 0;
}

/// What is bound of the step is only marked as reached again.
void Collectives::post_step(Track lane_id) {
  post_receives(lane_id);
  post_sends(lane_id);
}

void Collectives::post_receives(Track lane_id) {
  const Lane& lane = lanes_[lane_id];
  const std::uint32_t first = calls_[lane.call].first_party;
  const CollectiveCall& call = state_->workload->calls[lane.call];
  TransferId bound = lane.bound.first_received;  // the next of them
  for (std::uint32_t place = 0; place < step_.receives.size(); ++place) {
    if (bound != kNone && transfers_->transfer(bound).receive_place == place) {
      transfers_->post_bound(std::exchange(bound, transfers_->transfer(bound).next_received),
                             Transfer::kReceiver);
      continue;
    }
    const Receive& receive = step_.receives[place];
    transfers_->post({first + static_cast<std::uint32_t>(receive.peer), first + lane.member,
                      static_cast<std::uint32_t>(receive.channel)},
                     {lane_id, false, receive.combine == Combine::reduce, lane.repeats_left > 0,
                      step_.blocks_of(receive) * call.block.count(), 0, receive.times, 0, place,
                      receive.forwarded},
                     call.schedule->slots());
  }
}

void Collectives::post_sends(Track lane_id) {
  const Lane& lane = lanes_[lane_id];
  const std::uint32_t first = calls_[lane.call].first_party;
  const CollectiveCall& call = state_->workload->calls[lane.call];
  TransferId bound = lane.bound.first_sent;
  for (std::uint32_t place = 0; place < step_.sends.size(); ++place) {
    if (bound != kNone && transfers_->transfer(bound).send_place == place) {
      transfers_->post_bound(std::exchange(bound, transfers_->transfer(bound).next_sent),
                             Transfer::kSender);
      continue;
    }
    const Send& send = step_.sends[place];
    transfers_->post(
        {first + lane.member, first + static_cast<std::uint32_t>(send.peer),
         static_cast<std::uint32_t>(send.channel)},
        {lane_id, true, false, lane.repeats_left > 0, step_.blocks_of(send) * call.block.count(),
         state_->next_order++, 1, state_->instant, place},
        call.schedule->slots());
  }
}

void Collectives::wake_blocked_lanes(const Lane& done) {
  const Track first = first_track(done.call, done.member);
  for (Track id = first; id < first + calls_[done.call].lanes; ++id) {
    if (!lanes_[id].blocked) continue;
    lanes_[id].blocked = false;
    --blocked_lanes_;
    state_->ready.push_back(id);  // looks at its dependencies again
  }
}

}  // namespace lockstep::engine
