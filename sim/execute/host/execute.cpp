#include "sim/execute/host/execute.hpp"

#include <fmt/format.h>

#include <cmath>
#include <deque>
#include <limits>
#include <memory>
#include <span>
#include <unordered_map>

#include "sim/check.hpp"

namespace lockstep {
namespace {

using Payload = std::shared_ptr<const std::vector<float>>;

constexpr std::size_t kBlockedShown = 8;

/// Where a lane stands.
struct LaneState {
  std::int64_t done = 0;     // steps finished
  std::int64_t steps = 0;    // in all
  std::int64_t pending = 0;  // transfers of the current step that are not over
  bool begun = false;        // the current step has
};

struct PostedSend {
  std::size_t lane = 0;  // of the sender, as an index into lanes_
  Payload payload;
  bool over = false;  // for the sender
};

struct PostedReceive {
  std::size_t lane = 0;
  Receive receive;
};

/// What waits between two ranks on one lane, both sides in order.
struct Channel {
  std::deque<PostedSend> sends;
  std::deque<PostedReceive> receives;
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
    Step step;
    load(lane, step);
    if (!well_formed(lane, step) || first_missing(lane, step) != nullptr) return;
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
      channel(rank_of(lane), send.peer, lane_of(lane)).sends.push_back({lane, payload, false});
    }
    for (const Receive& receive : step.receives) {
      channel(receive.peer, rank_of(lane), lane_of(lane)).receives.push_back({lane, receive});
    }
    for (const Send& send : step.sends) match(rank_of(lane), send.peer, lane_of(lane));
    for (const Receive& receive : step.receives) match(receive.peer, rank_of(lane), lane_of(lane));
  }

  /// Lets everything through that both ends have reached, and sends into free slots.
  void match(int from, int to, int lane) {
    Channel& between = channel(from, to, lane);
    while (!between.sends.empty() && !between.receives.empty() && outcome_.finished()) {
      const PostedSend send = std::move(between.sends.front());
      const PostedReceive receive = between.receives.front();
      between.sends.pop_front();
      between.receives.pop_front();
      if (!deliver(send, receive)) return;
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

  bool deliver(const PostedSend& send, const PostedReceive& posted) {
    const Receive& receive = posted.receive;
    const std::span<float> into = blocks(rank_of(posted.lane), receive.chunk);
    if (into.size() != send.payload->size()) {
      return refuse(posted.lane, fmt::format("expects {} blocks from rank {}, which sends {}",
                                             receive.chunk.count, rank_of(send.lane),
                                             sent_blocks(send)));
    }
    for (std::size_t i = 0; i < into.size(); ++i) {
      const float arrived = (*send.payload)[i];
      into[i] = receive.combine == Combine::reduce ? into[i] + arrived : arrived;
    }
    ++outcome_.transfers;
    return true;
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

  // What a step may ask for.

  bool well_formed(std::size_t lane, const Step& step) {
    for (const Send& send : step.sends) {
      if (!known_peer(lane, send.peer) || !within(lane, send.chunk)) return false;
    }
    for (const Receive& receive : step.receives) {
      if (!known_peer(lane, receive.peer) || !within(lane, receive.chunk)) return false;
    }
    for (const StepRef& after : step.after) {
      if (!known_step(lane, after)) return false;
    }
    return true;
  }

  bool known_peer(std::size_t lane, int peer) {
    if (0 <= peer && peer < schedule_.ranks()) return true;
    return refuse(lane,
                  fmt::format("names rank {}, but there are {} ranks", peer, schedule_.ranks()));
  }

  bool within(std::size_t lane, Chunk chunk) {
    const std::int64_t held = held_blocks(rank_of(lane), chunk.buffer);
    if (chunk.first >= 0 && chunk.count >= 0 && chunk.first <= held - chunk.count) return true;
    return refuse(lane, fmt::format("names blocks {} to {} of a buffer of {}", chunk.first,
                                    chunk.first + chunk.count - 1, held));
  }

  bool known_step(std::size_t lane, StepRef after) {
    const bool known = 0 <= after.lane && after.lane < lane_count_ && after.step >= 0 &&
                       after.step < lanes_[lane_index(rank_of(lane), after.lane)].steps;
    if (known) return true;
    return refuse(lane, fmt::format("waits for step {} of lane {}, which does not exist",
                                    after.step, after.lane));
  }

  bool refuse(std::size_t lane, const std::string& what) {
    outcome_.kind = ExecuteOutcome::Kind::malformed;
    outcome_.problem = fmt::format("rank {}, lane {}, step {} {}", rank_of(lane), lane_of(lane),
                                   lanes_[lane].done, what);
    return false;
  }

  [[nodiscard]] const StepRef* first_missing(std::size_t lane, const Step& step) const {
    for (const StepRef& after : step.after) {
      if (lanes_[lane_index(rank_of(lane), after.lane)].done <= after.step) return &after;
    }
    return nullptr;
  }

  // Memory.

  [[nodiscard]] std::int64_t held_blocks(int rank, Buffer buffer) const {
    return buffer == Buffer::scratch ? schedule_.scratch_blocks(rank) : schedule_.blocks();
  }

  std::span<float> blocks(int rank, Chunk chunk) {
    RankMemory& memory = memory_.ranks[static_cast<std::size_t>(rank)];
    std::vector<float>& buffer = chunk.buffer == Buffer::data     ? memory.data
                                 : chunk.buffer == Buffer::output ? memory.output
                                                                  : memory.scratch;
    const std::int64_t length = memory_.block_elements;
    if (buffer.empty()) {
      buffer.assign(static_cast<std::size_t>(held_blocks(rank, chunk.buffer) * length),
                    std::numeric_limits<float>::quiet_NaN());
    }
    return std::span{buffer}.subspan(static_cast<std::size_t>(chunk.first * length),
                                     static_cast<std::size_t>(chunk.count * length));
  }

  [[nodiscard]] Payload copy(std::size_t lane, Chunk chunk) {
    const std::span<float> held = blocks(rank_of(lane), chunk);
    return std::make_shared<const std::vector<float>>(held.begin(), held.end());
  }

  [[nodiscard]] static bool same(Chunk a, Chunk b) {
    return a.buffer == b.buffer && a.first == b.first && a.count == b.count;
  }

  [[nodiscard]] Channel& channel(int from, int to, int lane) {
    const auto ranks = static_cast<std::uint64_t>(schedule_.ranks());
    const auto pair = static_cast<std::uint64_t>(from) * ranks + static_cast<std::uint64_t>(to);
    return channels_[pair * static_cast<std::uint64_t>(lane_count_) +
                     static_cast<std::uint64_t>(lane)];
  }

  const Schedule& schedule_;
  HostMemory& memory_;
  int lane_count_;
  std::vector<LaneState> lanes_;
  std::deque<std::size_t> ready_;  // lanes that may be able to begin a step
  std::unordered_map<std::uint64_t, Channel> channels_;  // looked up, never iterated
  ExecuteOutcome outcome_;
};

}  // namespace
}  // namespace lockstep
