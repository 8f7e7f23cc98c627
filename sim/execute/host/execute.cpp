#include "sim/execute/host/execute.hpp"

#include <fmt/format.h>

#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>

#include "sim/check.hpp"
#include "sim/execute/host/fifo.hpp"
#include "sim/execute/host/step_problem.hpp"

namespace lockstep {
namespace {

using Payload = std::shared_ptr<const std::vector<float>>;

constexpr std::size_t kBlockedShown = 8;

std::string in_blocks(std::int64_t count) {
  return count == 1 ? "1 block" : fmt::format("{} blocks", count);
}

/// Where a lane stands.
struct LaneState {
  std::int64_t done = 0;     // steps finished
  std::int64_t steps = 0;    // in all
  std::int64_t pending = 0;  // transfers of the current step that are not over
  bool begun = false;        // the current step has
};

struct PostedSend {
  std::size_t lane = 0;  // of the sender, as an index into lanes_
  int to = 0;
  std::int64_t step = 0;
  std::int64_t blocks = 0;
  Payload payload;
  bool over = false;  // for the sender
};

struct PostedReceive {
  std::size_t lane = 0;
  Receive receive;
};

/// What waits between two ranks on one channel, both sides in order.
struct Connection {
  Fifo<PostedSend> sends;
  Fifo<PostedReceive> receives;
};

class HostExecutor {
 public:
  HostExecutor(const Schedule& schedule, HostMemory& memory)
      : schedule_{schedule}, memory_{memory}, lane_count_{schedule.lanes()} {
    LOCKSTEP_CHECK(memory.ranks.size() == static_cast<std::size_t>(schedule.ranks()));
    for (int rank = 0; rank < schedule.ranks(); ++rank) add_lanes(rank);
  }

  ExecuteOutcome run() {
    while (!ready_.empty() && outcome_.finished()) {
      const std::size_t lane = ready_.front();
      ready_.pop_front();
      begin(lane);
    }
    if (outcome_.finished()) report_blocked();
    if (outcome_.finished()) report_left_over();
    return std::move(outcome_);
  }

 private:
  void add_lanes(int rank) {
    LOCKSTEP_CHECK(std::ssize(memory_.ranks[static_cast<std::size_t>(rank)].data) ==
                   schedule_.blocks() * memory_.block_elements);
    for (int lane = 0; lane < lane_count_; ++lane) {
      ready_.push_back(lanes_.size());
      lanes_.push_back({.steps = schedule_.steps(rank, lane)});
    }
  }

  [[nodiscard]] int rank_of(std::size_t lane) const {
    return static_cast<int>(lane / static_cast<std::size_t>(lane_count_));
  }
  [[nodiscard]] int lane_of(std::size_t lane) const {
    return static_cast<int>(lane % static_cast<std::size_t>(lane_count_));
  }
  [[nodiscard]] std::size_t lane_index(int rank, int lane) const {
    return static_cast<std::size_t>(rank) * static_cast<std::size_t>(lane_count_) +
           static_cast<std::size_t>(lane);
  }

  /// Begins the lane's next step, if there is one and what it waits for is done.
  void begin(std::size_t lane) {
    LaneState& state = lanes_[lane];
    if (state.begun || state.done == state.steps) return;
    Step& step = step_;
    load(lane, step);
    if (const auto problem = step_problem(schedule_, rank_of(lane), step))
      return refuse(lane, *problem);
    if (first_missing(lane, step) != nullptr) return;
    state.begun = true;
    state.pending = std::ssize(step.sends) + std::ssize(step.receives);
    post(lane, step);
    if (std::ssize(step.sends) + std::ssize(step.receives) == 0) finish_step(lane);
  }

  void load(std::size_t lane, Step& step) const {
    step.clear();
    schedule_.step(rank_of(lane), lane_of(lane), lanes_[lane].done, step);
  }

  /// All sends are posted before any receive is applied, so that they carry the step's beginning.
  void post(std::size_t lane, const Step& step) {
    Payload payload;
    const Chunk* copied = nullptr;
    for (const Send& send : step.sends) {
      if (copied == nullptr || !same(*copied, send.chunk)) payload = copy(lane, send.chunk);
      copied = &send.chunk;
      connection(rank_of(lane), send.peer, send.channel)
          .sends.push({lane, send.peer, lanes_[lane].done, send.chunk.count, payload});
    }
    for (const Receive& receive : step.receives) {
      connection(receive.peer, rank_of(lane), receive.channel).receives.push({lane, receive});
    }
    for (const Send& send : step.sends) match(rank_of(lane), send.peer, send.channel);
    for (const Receive& receive : step.receives)
      match(receive.peer, rank_of(lane), receive.channel);
  }

  /// Lets everything through that both ends have reached, and sends into free slots.
  void match(int from, int to, int channel) {
    Connection& between = connection(from, to, channel);
    while (!between.sends.empty() && !between.receives.empty() && outcome_.finished()) {
      const PostedSend send = between.sends.pop();
      const PostedReceive receive = between.receives.pop();
      deliver(send, receive);
      if (!send.over) transfer_over(send.lane);
      transfer_over(receive.lane);
    }
    const auto slots = static_cast<std::size_t>(schedule_.slots());
    for (std::size_t i = 0; i < between.sends.size() && i < slots; ++i) {
      if (between.sends[i].over) continue;
      between.sends[i].over = true;
      transfer_over(between.sends[i].lane);
    }
  }

  void deliver(const PostedSend& send, const PostedReceive& posted) {
    const Receive& receive = posted.receive;
    if (receive.chunk.count != send.blocks) {
      return refuse(posted.lane, fmt::format("expects {} from rank {}, which sends {}",
                                             in_blocks(receive.chunk.count), receive.peer,
                                             in_blocks(send.blocks)));
    }
    const std::span<float> into = chunk_of(memory_, schedule_, rank_of(posted.lane), receive.chunk);
    for (std::size_t i = 0; i < into.size(); ++i) {
      const float arrived = (*send.payload)[i];
      into[i] = receive.combine == Combine::reduce ? into[i] + arrived : arrived;
    }
    ++outcome_.transfers;
  }

  void transfer_over(std::size_t lane) {
    if (--lanes_[lane].pending == 0) finish_step(lane);
  }

  /// Whatever on this rank may have waited for the step may go on.
  void finish_step(std::size_t lane) {
    ++lanes_[lane].done;
    lanes_[lane].begun = false;
    for (int other = 0; other < lane_count_; ++other)
      ready_.push_back(lane_index(rank_of(lane), other));
  }

  void refuse(std::size_t lane, const std::string& what) {
    outcome_.kind = ExecuteOutcome::Kind::malformed;
    outcome_.problem = fmt::format("rank {}, lane {}, step {} {}", rank_of(lane), lane_of(lane),
                                   lanes_[lane].done, what);
  }

  [[nodiscard]] const StepRef* first_missing(std::size_t lane, const Step& step) const {
    for (const StepRef& after : step.after) {
      if (lanes_[lane_index(rank_of(lane), after.lane)].done <= after.step) return &after;
    }
    return nullptr;
  }

  [[nodiscard]] Payload copy(std::size_t lane, Chunk chunk) {
    const std::span<float> held = chunk_of(memory_, schedule_, rank_of(lane), chunk);
    return std::make_shared<const std::vector<float>>(held.begin(), held.end());
  }

  [[nodiscard]] static bool same(Chunk a, Chunk b) {
    return a.buffer == b.buffer && a.first == b.first && a.count == b.count;
  }

  // The end.

  void report_blocked() {
    for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
      if (lanes_[lane].done == lanes_[lane].steps) continue;
      ++outcome_.blocked_lanes;
      if (outcome_.blocked.size() < kBlockedShown) outcome_.blocked.push_back(blocked(lane));
    }
    if (outcome_.blocked.empty()) return;
    const BlockedLane& first = outcome_.blocked.front();
    outcome_.kind = ExecuteOutcome::Kind::stuck;
    outcome_.problem = fmt::format("rank {}, lane {}, step {} waits {}", first.rank, first.lane,
                                   first.step, first.waits_for);
  }

  [[nodiscard]] BlockedLane blocked(std::size_t lane) {
    Step step;
    load(lane, step);
    std::string waits_for;
    if (const StepRef* missing = first_missing(lane, step); !lanes_[lane].begun && missing) {
      waits_for = fmt::format("for lane {} to finish step {}", missing->lane, missing->step);
    } else {
      waits_for = open_transfer(lane, step);
    }
    return {rank_of(lane), lane_of(lane), lanes_[lane].done, waits_for};
  }

  /// The first transfer of a step that has begun and is not over.
  [[nodiscard]] std::string open_transfer(std::size_t lane, const Step& step) {
    for (const Send& send : step.sends) {
      const auto& waiting = connection(rank_of(lane), send.peer, send.channel).sends;
      if (!waiting.empty() && !waiting[waiting.size() - 1].over)
        return fmt::format("to send {} to rank {}", in_blocks(send.chunk.count), send.peer);
    }
    for (const Receive& receive : step.receives) {
      if (!connection(receive.peer, rank_of(lane), receive.channel).receives.empty())
        return fmt::format("to receive {} from rank {}", in_blocks(receive.chunk.count),
                           receive.peer);
    }
    return "for nothing that is known";
  }

  /// With slots a message may have left and never be taken. Names the sender of lowest rank.
  void report_left_over() {
    const PostedSend* first = nullptr;
    for (const auto& [key, between] : connections_) {
      if (between.sends.empty()) continue;
      const PostedSend& send = between.sends[0];
      if (first == nullptr || std::pair{send.lane, send.to} < std::pair{first->lane, first->to})
        first = &send;
    }
    if (first == nullptr) return;
    outcome_.kind = ExecuteOutcome::Kind::malformed;
    outcome_.problem =
        fmt::format("rank {}, lane {}, step {} sends to rank {} what nobody takes",
                    rank_of(first->lane), lane_of(first->lane), first->step, first->to);
  }

  [[nodiscard]] Connection& connection(int from, int to, int channel) {
    constexpr int kMostChannels = 1 << 16;
    LOCKSTEP_CHECK(channel >= 0 && channel < kMostChannels);
    const auto ranks = static_cast<std::uint64_t>(schedule_.ranks());
    const std::uint64_t pair =
        static_cast<std::uint64_t>(from) * ranks + static_cast<std::uint64_t>(to);
    return connections_[pair * kMostChannels + static_cast<std::uint64_t>(channel)];
  }

  const Schedule& schedule_;
  HostMemory& memory_;
  int lane_count_;
  std::vector<LaneState> lanes_;
  std::deque<std::size_t> ready_;  // lanes that may be able to begin a step
  std::unordered_map<std::uint64_t, Connection> connections_;  // by from, to, channel
  Step step_;                                                  // the one that begins
  ExecuteOutcome outcome_;
};

}  // namespace

ExecuteOutcome execute(const Schedule& schedule, HostMemory& memory) {
  return HostExecutor{schedule, memory}.run();
}

}  // namespace lockstep
