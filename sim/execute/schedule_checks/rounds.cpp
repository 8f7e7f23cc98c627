#include "sim/execute/schedule_checks/rounds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

#include "sim/execute/schedule/step_problem.hpp"

namespace lockstep {

namespace {

template <typename Message>
std::vector<Chunk> runs_of(const ScheduleStep& step, const Message& message) {
  std::vector<Chunk> out{message.chunk};
  const auto more = step.more(message.more);
  out.insert(out.end(), more.begin(), more.end());
  return out;
}

std::int64_t blocks_of(const std::vector<Chunk>& runs) {
  return std::accumulate(runs.begin(), runs.end(), std::int64_t{0},
                         [](std::int64_t sum, const Chunk& run) { return sum + run.count; });
}

bool same(const Chunk& a, const Chunk& b) {
  return a.buffer == b.buffer && a.first == b.first && a.count == b.count;
}

}  // namespace

RoundSimulator::RoundSimulator(const Schedule& schedule, BlockMemory& memory,
                               std::optional<int> slots)
    : schedule_{schedule},
      memory_{memory},
      slots_{static_cast<std::size_t>(slots.value_or(schedule.slots()))} {
  for (int rank = 0; rank < schedule.ranks(); ++rank)
    for (int lane = 0; lane < schedule.lanes(); ++lane) {
      may_begin_.push_back(lanes_.size());
      lanes_.push_back({{rank, lane, 0}, schedule.steps(rank, lane)});
    }
}

bool RoundSimulator::next(Round& round) {
  if (stopped_) return false;
  try {
    return play(round);
  } catch (RoundStop& stop) {
    stopped_ = std::move(stop);
    return false;
  }
}

bool RoundSimulator::play(Round& round) {
  round_ = &round;
  do {
    round = {.number = ++number_, .messages = {}, .locals = {}};
    order_.clear();
    moved_ = false;
    if (number_ > 0) {
      if (active_.empty()) break;
      send_all();
    }
    settle();
  } while (number_ == 0 && round.locals.empty());
  order_messages();
  if (moved_ || !round.locals.empty()) return true;
  const bool done =
      std::ranges::all_of(lanes_, [](const Lane& lane) { return lane.place.step == lane.steps; });
  if (!done) stop_stuck();
  return false;
}

std::size_t RoundSimulator::lane_index(int rank, int lane) const {
  return static_cast<std::size_t>(rank) * static_cast<std::size_t>(schedule_.lanes()) +
         static_cast<std::size_t>(lane);
}

/// All that takes no time.
void RoundSimulator::settle() {
  do {
    while (!may_begin_.empty()) {
      const std::size_t lane = may_begin_.front();
      may_begin_.pop_front();
      begin(lane);
    }
    take_arrived();
  } while (!may_begin_.empty());
}

void RoundSimulator::begin(std::size_t lane) {
  Lane& own = lanes_[lane];
  if (own.place.step == own.steps) return;
  ScheduleStep step;
  schedule_.step(own.place.rank, own.place.lane, own.place.step, step);
  if (const auto problem = step_problem(schedule_, own.place.rank, step))
    stop(own.place, number_ + 1, *problem);
  if (must_wait(lane, step)) return;
  own.pending = std::ssize(step.sends) + std::ssize(step.receives);
  if (own.pending == 0) return end_step(lane);
  post(lane, step);
}

bool RoundSimulator::must_wait(std::size_t lane, const ScheduleStep& step) {
  for (const ScheduleStepRef& after : step.after) {
    Lane& other = lanes_[lane_index(lanes_[lane].place.rank, after.lane)];
    if (other.place.step > after.step) continue;
    other.waiters.push_back(lane);
    return true;
  }
  return false;
}

void RoundSimulator::post(std::size_t lane, const ScheduleStep& step) {
  const ScheduleStepIndex place = lanes_[lane].place;
  BlockMemory::Payload payload;  // of the runs in `read`; messages with the same share it
  std::vector<Chunk> read;
  for (std::size_t i = 0; i < step.sends.size(); ++i) {
    const Send& send = step.sends[i];
    auto runs = runs_of(step, send);
    if (i == 0 || !std::ranges::equal(runs, read, same)) {
      payload = memory_.read(place.rank, runs);
      read = runs;
    }
    connection(place.rank, send.peer, send.channel)
        .sends.push({lane, place, i, std::move(runs), payload, 0});
  }
  for (const Receive& receive : step.receives)
    connection(receive.peer, place.rank, receive.channel)
        .receives.push({lane, place, runs_of(step, receive), receive.combine, receive.forwarded});
}

RoundSimulator::Connection& RoundSimulator::connection(int from, int to, int channel) {
  const Key key{from, to, channel};
  Connection& out = connections_[key];
  out.channel = channel;
  if (!std::exchange(out.listed, true)) active_.emplace(key, &out);
  return out;
}

/// One unit of time: what is sent leaves, and arrives.
void RoundSimulator::send_all() {
  std::vector<std::size_t> over;
  std::map<Key, Connection*> still;
  for (auto& [key, between] : std::exchange(active_, {})) {
    send(*between, over);
    between->listed = !between->sends.empty() && slots_ > 0;
    if (between->listed) still.emplace(key, between);
  }
  active_ = std::move(still);
  transfers_over(over);
}

void RoundSimulator::send(Connection& between, std::vector<std::size_t>& over) {
  while (!between.sends.empty()) {
    if (slots_ == 0 ? between.receives.empty() : between.arrived.size() + between.held >= slots_)
      return;
    PostedSend sent = between.sends.pop();
    moved_ = true;
    sent.left = number_;
    over.push_back(sent.lane);
    if (slots_ > 0 && between.receives.empty()) {
      between.arrived.push(std::move(sent));
    } else {
      take(between, std::move(sent), over);
    }
  }
}

/// With slots: what waits at a receiver that has come to take it.
void RoundSimulator::take_arrived() {
  if (slots_ == 0) return;
  std::vector<std::size_t> over;
  for (auto& [key, between] : active_)
    while (!between->arrived.empty() && !between->receives.empty())
      take(*between, between->arrived.pop(), over);
  transfers_over(over);
}

void RoundSimulator::take(Connection& between, PostedSend sent, std::vector<std::size_t>& over) {
  PostedReceive receive = between.receives.pop();
  const std::int64_t blocks = blocks_of(sent.runs);
  if (blocks_of(receive.runs) != blocks)
    stop(receive.place, number_,
         fmt::format("expects {} chunks from rank {}, which sends {}", blocks_of(receive.runs),
                     sent.place.rank, blocks));
  if (const auto mistake =
          memory_.write(receive.place, receive.runs, sent.payload, receive.combine))
    stop(receive.place, number_, *mistake);
  if (receive.forwarded && slots_ > 0) {
    ++between.held;
    lanes_[receive.lane].took = &between;
  }
  over.push_back(receive.lane);
  order_.push_back(sent.index);
  round_->messages.push_back({sent.place, receive.place, between.channel, std::move(sent.runs),
                              std::move(receive.runs), receive.combine, blocks, sent.left});
}

void RoundSimulator::transfers_over(const std::vector<std::size_t>& lanes) {
  for (const std::size_t lane : lanes)
    if (--lanes_[lane].pending == 0) end_step(lane);
}

void RoundSimulator::end_step(std::size_t lane) {
  Lane& own = lanes_[lane];
  ScheduleStep step;
  schedule_.step(own.place.rank, own.place.lane, own.place.step, step);
  for (const LocalOperation& local : step.locals) {
    const auto payload = memory_.read(own.place.rank, {&local.from, 1});
    if (const auto mistake = memory_.write(own.place, {&local.to, 1}, payload, local.combine))
      stop(own.place, number_, *mistake);
    round_->locals.push_back({own.place, local});
  }
  ++own.place.step;
  if (own.holds != nullptr) --own.holds->held;
  own.holds = std::exchange(own.took, nullptr);
  may_begin_.push_back(lane);
  for (const std::size_t waiter : std::exchange(own.waiters, {})) may_begin_.push_back(waiter);
}

void RoundSimulator::order_messages() {
  std::vector<std::size_t> at(round_->messages.size());
  std::iota(at.begin(), at.end(), std::size_t{0});
  const auto key = [&](std::size_t i) {
    const ScheduleStepIndex& sender = round_->messages[i].sender;
    return std::tuple{sender.rank, sender.lane, sender.step, order_[i]};
  };
  std::ranges::stable_sort(at, {}, key);
  std::vector<RoundMessage> sorted;
  sorted.reserve(at.size());
  for (const std::size_t i : at) sorted.push_back(std::move(round_->messages[i]));
  round_->messages = std::move(sorted);
}

void RoundSimulator::stop(const ScheduleStepIndex& place, std::int64_t round, std::string what) {
  throw RoundStop{place, round, std::move(what)};
}

void RoundSimulator::stop_stuck() const {
  const auto first =
      std::ranges::find_if(lanes_, [](const Lane& lane) { return lane.place.step < lane.steps; });
  stop(first->place, number_, "never completes; no rank can continue");
}

}  // namespace lockstep
