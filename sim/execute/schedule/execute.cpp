#include "sim/execute/schedule/execute.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "sim/execute/schedule/chunk_text.hpp"
#include "sim/execute/schedule/connections.hpp"
#include "sim/execute/schedule/float_blocks.hpp"
#include "sim/execute/schedule/lane_states.hpp"
#include "sim/execute/schedule/step_problem.hpp"
#include "sim/execute/schedule/unfinished_execution.hpp"

namespace lockstep {
namespace {

using namespace posted;

/// A lane that can continue, or a connection whose first message can be received.
struct Action {
  std::uint32_t lane = 0;
  std::uint32_t arrival = kNone;
};

/// A lane that waits for another of its rank to finish a step.
struct Waiter {
  std::size_t lane = 0;
  std::int64_t step = 0;
};

class Executor {
 public:
  Executor(const Schedule& schedule, BlockMemory& memory, const ExecuteOptions& options)
      : schedule_{schedule},
        memory_{memory},
        slots_{static_cast<std::size_t>(options.slots.value_or(schedule.slots()))},
        lanes_{schedule},
        starved_{lanes_.index(options.starved_rank, options.starved_lane)},
        observer_{options.observer},
        known_steps_{options.known_steps},
        ready_{options.order, options.seed},
        connections_{schedule.ranks()} {
    const auto ranks = static_cast<std::size_t>(schedule.ranks());
    outcome_.traffic.sent.resize(ranks);
    outcome_.traffic.received.resize(ranks);
    for (std::size_t lane = 0; lane < lanes_.size(); ++lane)
      if (lanes_[lane].steps > 0) push(lane);
    waiters_.resize(lanes_.size());
  }

  ExecuteOutcome run() {
    while (!ready_.empty() && outcome_.finished()) {
      const Action action = ready_.pop();
      if (action.arrival != kNone) {
        take(action.arrival);
      } else {
        advance(action.lane);
      }
      release_forwarded_slots();
    }
    if (outcome_.finished())
      report_unfinished({schedule_, lanes_, connections_, sends_, receives_}, outcome_);
    return std::move(outcome_);
  }

 private:
  void push(std::size_t lane) {
    ready_.push({static_cast<std::uint32_t>(lane), kNone}, lane == starved_);
  }

  void advance(std::size_t lane) {
    const LaneState& state = lanes_[lane];
    if (state.done == state.steps) return;
    if (!state.begun) {
      begin(lane);
    } else if (state.pending == 0) {
      do_locals(lane);
    }
  }

  /// Begins the lane's next step if the steps it waits for are done.
  void begin(std::size_t lane) {
    LaneState& state = lanes_[lane];
    load(lane, step_);
    if (!known_steps_)
      if (const auto problem = step_problem(schedule_, lanes_.rank_of(lane), step_))
        return refuse(lanes_.current(lane), *problem);
    if (const ScheduleStepRef* missing = lanes_.first_missing(lane, step_)) {
      waiters_[lanes_.index(lanes_.rank_of(lane), missing->lane)].push_back({lane, missing->step});
      return;
    }
    state.begun = true;
    state.has_locals = !step_.locals.empty();
    state.pending = std::ssize(step_.sends) + std::ssize(step_.receives);
    if (observer_ != nullptr) observer_->begun(lanes_.current(lane), step_);
    if (state.pending == 0) return transfers_over(lane);
    post(lane);
  }

  void load(std::size_t lane, ScheduleStep& step) const {
    step.clear();
    schedule_.step(lanes_.rank_of(lane), lanes_.lane_of(lane), lanes_[lane].done, step);
  }

  /// All that the current step sends is read before any of it is received.
  void post(std::size_t lane) {
    BlockMemory::Payload payload;  // of the runs in read_; messages with the same share it
    for (std::size_t i = 0; i < step_.sends.size(); ++i) {
      const std::span<const Chunk> runs = runs_of(step_.sends[i]);
      if (i == 0 || !std::ranges::equal(runs, read_, same)) {
        payload = memory_.read(lanes_.rank_of(lane), runs);
        read_.assign(runs.begin(), runs.end());
      }
      const bool is_last = i + 1 == step_.sends.size();
      post_send(lane, i, is_last ? std::move(payload) : payload);
    }
    for (std::size_t i = 0; i < step_.receives.size(); ++i) post_receive(lane, i);
  }

  /// The result is valid until the next call.
  template <typename Message>
  [[nodiscard]] std::span<const Chunk> runs_of(const Message& message) {
    if (message.more.count == 0) return {&message.chunk, 1};
    runs_.assign(1, message.chunk);
    const auto more = step_.more(message.more);
    runs_.insert(runs_.end(), more.begin(), more.end());
    return runs_;
  }

  void post_send(std::size_t lane, std::size_t place, BlockMemory::Payload payload) {
    const Send& send = step_.sends[place];
    const std::int64_t blocks = step_.blocks_of(send);
    const std::uint32_t id = connections_.number(lanes_.rank_of(lane), send.peer, send.channel);
    Connection& between = connections_[id];
    note_user(between.sender, lane);
    const bool over = between.used() < slots_;
    const std::uint32_t posted = sends_.take();
    PostedSend& own = sends_[posted];
    own.lane = static_cast<std::uint32_t>(lane);
    own.place = static_cast<std::uint32_t>(place);
    own.over = over;
    own.step = lanes_[lane].done;
    own.blocks = blocks;
    own.payload = std::move(payload);
    between.sends.push(sends_, posted);
    if (over) {
      ++between.over;
    } else if (between.waiting == kNone) {
      between.waiting = posted;
    }
    outcome_.traffic.sent[static_cast<std::size_t>(lanes_.rank_of(lane))] += blocks;
    if (between.sends.size <= between.receives.size) push_arrival(id);
    note_depth(between);
    if (over) transfer_over(lane);
  }

  void post_receive(std::size_t lane, std::size_t place) {
    const Receive& receive = step_.receives[place];
    const std::uint32_t posted = receives_.take();
    PostedReceive& own = receives_[posted];
    own.lane = static_cast<std::uint32_t>(lane);
    own.place = static_cast<std::uint32_t>(place);
    own.combine = receive.combine;
    own.forwarded = receive.forwarded;
    own.blocks = step_.blocks_of(receive);
    own.first = receive.chunk;
    own.several.clear();
    if (receive.more.count > 0) {
      const std::span<const Chunk> runs = runs_of(receive);
      own.several.assign(runs.begin(), runs.end());
    }
    const std::uint32_t id =
        connections_.number(receive.peer, lanes_.rank_of(lane), receive.channel);
    Connection& between = connections_[id];
    note_user(between.receiver, lane);
    between.receives.push(receives_, posted);
    if (between.receives.size <= between.sends.size) push_arrival(id);
  }

  void note_user(std::uint32_t& user, std::size_t lane) {
    if (user == lane) return;
    outcome_.shares_channels = outcome_.shares_channels || user != kNone;
    user = static_cast<std::uint32_t>(lane);
  }

  /// Queues a message that both ends have reached, once.
  void push_arrival(std::uint32_t id) {
    const std::uint32_t receiver = receives_[connections_[id].receives.first].lane;
    ready_.push({receiver, id}, receiver == starved_);
  }

  void note_depth(const Connection& between) {
    const auto depth = static_cast<std::int64_t>(between.used());
    Traffic& traffic = outcome_.traffic;
    if (depth <= traffic.deepest_queue) return;
    traffic.deepest_queue = depth;
    traffic.deepest_from = between.from;
    traffic.deepest_to = between.to;
    traffic.deepest_channel = between.channel;
  }

  void take(std::uint32_t id) {
    Connection& between = connections_[id];
    const std::uint32_t sent = pop_send(between);
    const std::uint32_t received = between.receives.pop(receives_);
    PostedSend& send = sends_[sent];
    const PostedReceive& receive = receives_[received];
    const ScheduleStepIndex place = lanes_.current(receive.lane);
    if (receive.blocks != send.blocks)
      return refuse(
          place, fmt::format("expects {} from rank {}, which sends {}", in_chunks(receive.blocks),
                             between.from, in_chunks(send.blocks)));
    if (const auto mistake = memory_.write(place, receive.runs(), send.payload, receive.combine))
      return refuse(place, *mistake, ExecuteOutcome::Kind::wrong);
    send.payload.reset();
    if (observer_ != nullptr)
      observer_->taken({between.from, lanes_.lane_of(send.lane), send.step}, place, receive.runs(),
                       receive.combine);
    ++outcome_.transfers;
    outcome_.traffic.received[static_cast<std::size_t>(place.rank)] += receive.blocks;
    if (receive.forwarded && slots_ > 0) {
      ++between.held;
      lanes_[receive.lane].took = id;
    } else {
      release_slot(between);
    }
    if (!send.over) transfer_over(send.lane);
    transfer_over(receive.lane);
    sends_.give_back(sent);
    receives_.give_back(received);
  }

  std::uint32_t pop_send(Connection& between) {
    const std::uint32_t out = between.sends.pop(sends_);
    if (between.over > 0) {
      --between.over;
    } else {
      between.waiting = between.sends.size == 0 ? kNone : between.sends.first;
    }
    return out;
  }

  /// Gives the slot that became free to the first send without one.
  void release_slot(Connection& between) {
    if (slots_ == 0 || between.used() < slots_ || between.held == slots_) return;
    if (between.over >= slots_ - between.held) return;
    PostedSend& next = sends_[between.waiting];
    next.over = true;
    ++between.over;
    between.waiting = next.next;
    transfer_over(next.lane);
  }

  /// Slots of messages that have been forwarded. One by one: a released slot may finish a step that
  /// releases another, along a chain of any length.
  void release_forwarded_slots() {
    while (!forwarded_.empty()) {
      Connection& between = connections_[forwarded_.back()];
      forwarded_.pop_back();
      --between.held;
      release_slot(between);
    }
  }

  void transfer_over(std::size_t lane) {
    if (--lanes_[lane].pending == 0) transfers_over(lane);
  }

  void transfers_over(std::size_t lane) {
    if (lanes_[lane].has_locals) {
      push(lane);
    } else {
      finish_step(lane);
    }
  }

  void do_locals(std::size_t lane) {
    load(lane, step_);
    for (const LocalOperation& local : step_.locals) {
      const auto payload = memory_.read(lanes_.rank_of(lane), {&local.from, 1});
      if (const auto mistake =
              memory_.write(lanes_.current(lane), {&local.to, 1}, payload, local.combine))
        return refuse(lanes_.current(lane), *mistake, ExecuteOutcome::Kind::wrong);
      if (observer_ != nullptr) observer_->worked(lanes_.current(lane), local);
    }
    finish_step(lane);
  }

  void finish_step(std::size_t lane) {
    LaneState& state = lanes_[lane];
    if (observer_ != nullptr) observer_->finished(lanes_.current(lane));
    ++state.done;
    state.begun = false;
    if (state.done < state.steps) push(lane);
    if (state.holds != kNone) forwarded_.push_back(state.holds);
    state.holds = std::exchange(state.took, kNone);
    std::erase_if(waiters_[lane], [&](const Waiter& waiter) {
      if (state.done <= waiter.step) return false;
      push(waiter.lane);
      return true;
    });
  }

  void refuse(const ScheduleStepIndex& at, const std::string& what,
              ExecuteOutcome::Kind kind = ExecuteOutcome::Kind::malformed) {
    fail(outcome_, at, what, kind);
  }

  [[nodiscard]] static bool same(const Chunk& a, const Chunk& b) {
    return a.buffer == b.buffer && a.first == b.first && a.count == b.count;
  }

  const Schedule& schedule_;
  BlockMemory& memory_;
  std::size_t slots_;
  LaneStates lanes_;
  std::size_t starved_;
  ExecuteObserver* observer_;
  bool known_steps_;
  ReadyPool<Action> ready_;
  Connections connections_;
  Pool<PostedSend> sends_;
  Pool<PostedReceive> receives_;
  std::vector<std::vector<Waiter>> waiters_;  // per lane: who waits for it
  std::vector<std::uint32_t> forwarded_;      // connections with a slot to release
  ScheduleStep step_;                         // the one loaded last
  std::vector<Chunk> runs_;                   // of one message, if it has several
  std::vector<Chunk> read_;                   // of the last payload
  ExecuteOutcome outcome_;
};

}  // namespace

ExecuteOutcome execute(const Schedule& schedule, BlockMemory& memory,
                       const ExecuteOptions& options) {
  return Executor{schedule, memory, options}.run();
}

ExecuteOutcome execute(const Schedule& schedule, HostMemory& memory,
                       const ExecuteOptions& options) {
  FloatBlocks blocks{schedule, memory};
  return execute(schedule, blocks, options);
}

}  // namespace lockstep
