#include "sim/schedule/message_depth.hpp"

#include <algorithm>
#include <cstdlib>
#include <unordered_map>
#include <vector>

#include "sim/base/hash.hpp"
#include "sim/schedule/round_depths.hpp"
#include "sim/schedule/shortened_schedule.hpp"

namespace lockstep {

namespace {

/// Messages that ended before a step could begin, or before it was done.
using Depth = std::int64_t;
constexpr std::uint32_t kNone = UINT32_MAX;

struct Ends {
  int from = 0;
  int to = 0;
  int channel = 0;
  friend bool operator==(const Ends&, const Ends&) = default;
};

struct HashOfEnds {
  std::size_t operator()(const Ends& ends) const {
    const auto both = (static_cast<std::uint64_t>(ends.from) << 32U) |
                      static_cast<std::uint64_t>(static_cast<std::uint32_t>(ends.to));
    const std::uint64_t mixed =
        both * kGoldenGamma ^ static_cast<std::uint64_t>(ends.channel) * 0xC2B2AE3D27D4EB4FULL;
    return static_cast<std::size_t>(mixed ^ (mixed >> 29U));
  }
};

/// Both ends of a connection, as far as the lanes have come: one entry a message, in order.
struct Connection {
  Ends ends;
  std::uint32_t sender = kNone;  // lanes, once they have come to a message
  std::uint32_t receiver = kNone;
  std::vector<Depth> sent{};     // when the sender's step began
  std::vector<Depth> awaited{};  // when the receiver's step began
  // Which steps these were, where that is asked for:
  std::vector<std::int64_t> sent_in{};
  std::vector<std::int64_t> awaited_in{};
};

/// One of a step's messages: the `which`th on its connection.
struct Message {
  std::uint32_t connection = 0;
  std::uint32_t which = 0;
};

struct Lane {
  int rank = 0;
  int lane = 0;
  std::int64_t steps = 0;
  std::vector<Depth> done{};        // by step
  bool posted = false;              // its next step has told its connections where it is
  bool queued = false;              // it is to be looked at
  bool blocked = false;             // its next step waits for another lane
  Depth end = 0;                    // of that step, by the messages before the `next`th
  std::size_t next = 0;             // among `messages`
  std::vector<Message> messages{};  // of that step
};

class Depths {
 public:
  /// `keeps_steps`: for adds_per_step().
  explicit Depths(const Schedule& schedule, bool keeps_steps = false)
      : schedule_{schedule},
        lanes_a_rank_{static_cast<std::size_t>(schedule.lanes())},
        keeps_steps_{keeps_steps} {
    for (int rank = 0; rank < schedule.ranks(); ++rank)
      for (int lane = 0; lane < schedule.lanes(); ++lane)
        lanes_.push_back({.rank = rank, .lane = lane, .steps = schedule.steps(rank, lane)});
  }

  std::optional<std::int64_t> run() {
    for (std::uint32_t id = 0; id < lanes_.size(); ++id) {
      wake(id);
      while (!queue_.empty()) {
        const std::uint32_t first = queue_.back();
        queue_.pop_back();
        lanes_[first].queued = false;
        go_on(first);
      }
    }
    for (const Lane& lane : lanes_)
      if (!is_over(lane)) return std::nullopt;
    return deepest(0, INT64_MAX);
  }

  /// Of the lanes with `fewest` to `most` steps.
  [[nodiscard]] Depth deepest(std::int64_t fewest, std::int64_t most) const {
    Depth out = 0;
    for (const Lane& lane : lanes_)
      if (!lane.done.empty() && fewest <= lane.steps && lane.steps <= most)
        out = std::max(out, lane.done.back());
    return out;
  }

  /// By how much every further step of the phase would make all that follows it deeper; empty where
  /// that does not show. With D_i the depths of all lanes when they have done step i, D_i follows
  /// from D_i, D_i-1 and D_i-2 alone where the ends of a message are at most a step apart, and from
  /// D_i-1 + c, D_i-2 + c follows D_i + c. So once D_i-1 = D_i-2 + c and D_i = D_i-1 + c, every
  /// further step adds c; and so it does to what comes later, if that waits for nothing earlier.
  [[nodiscard]] std::optional<Depth> adds_per_step(Phase phase) const {
    if (phase.count < kFewestSteps || !is_close_together(phase)) return std::nullopt;
    std::optional<Depth> adds;
    // The last step but one: what the last one meets may lie behind the phase.
    const auto at = static_cast<std::size_t>(phase.first + phase.count - 2);
    for (const Lane& lane : lanes_) {
      if (lane.steps <= phase.first) continue;
      const Depth last = lane.done[at] - lane.done[at - 1];
      if (last != lane.done[at - 1] - lane.done[at - 2] || last != adds.value_or(last))
        return std::nullopt;
      adds = last;
    }
    return adds;
  }

 private:
  static constexpr std::int64_t kFewestSteps = 4;

  /// Whether messages meet at most a step apart, and steps wait for earlier ones, those behind the
  /// phase for none before its last step.
  [[nodiscard]] bool is_close_together(Phase phase) const {
    const std::int64_t end = phase.first + phase.count;
    for (const Connection& connection : connections_)
      for (std::size_t i = 0; i < connection.sent_in.size(); ++i)
        if (std::abs(connection.sent_in[i] - connection.awaited_in[i]) > 1) return false;
    return std::ranges::all_of(waits_, [end](const StepDependency& wait) {
      return wait.awaited < wait.step && (wait.step < end || wait.awaited >= end - 1);
    });
  }

  [[nodiscard]] static bool is_over(const Lane& lane) {
    return std::ssize(lane.done) == lane.steps;
  }

  void wake(std::uint32_t id) {
    if (id == kNone || lanes_[id].queued) return;
    lanes_[id].queued = true;
    queue_.push_back(id);
  }

  /// Does the lane's steps as far as can be.
  void go_on(std::uint32_t id) {
    Lane& lane = lanes_[id];
    while (!is_over(lane)) {
      if (!lane.posted && !post(id)) return;
      for (; lane.next < lane.messages.size(); ++lane.next) {
        const auto message = end_of(lane.messages[lane.next]);
        if (!message) return;
        lane.end = std::max(lane.end, *message);
      }
      lane.done.push_back(lane.end);
      lane.posted = false;
      const std::size_t first = static_cast<std::size_t>(lane.rank) * lanes_a_rank_;
      for (std::size_t other = first; other < first + lanes_a_rank_; ++other)
        if (lanes_[other].blocked) wake(static_cast<std::uint32_t>(other));
    }
  }

  bool post(std::uint32_t id) {
    Lane& lane = lanes_[id];
    step_.clear();
    schedule_.step(lane.rank, lane.lane, std::ssize(lane.done), step_);
    Depth start = lane.done.empty() ? 0 : lane.done.back();
    for (const ScheduleStepRef& after : step_.after) {
      const std::vector<Depth>& others = lane_of(lane.rank, after.lane).done;
      lane.blocked = after.step >= std::ssize(others);
      if (lane.blocked) return false;
      start = std::max(start, others[static_cast<std::size_t>(after.step)]);
      if (keeps_steps_) waits_.push_back({std::ssize(lane.done), after.step});
    }
    lane.posted = true;
    lane.end = start;
    lane.next = 0;
    lane.messages.resize(step_.sends.size() + step_.receives.size());
    auto message = lane.messages.begin();
    for (const Send& send : step_.sends) {
      Connection& connection = find({lane.rank, send.peer, send.channel}, *message);
      message++->which = static_cast<std::uint32_t>(connection.sent.size());
      connection.sent.push_back(start);
      if (keeps_steps_) connection.sent_in.push_back(std::ssize(lane.done));
      connection.sender = id;
      wake(connection.receiver);
    }
    for (const Receive& receive : step_.receives) {
      Connection& connection = find({receive.peer, lane.rank, receive.channel}, *message);
      message++->which = static_cast<std::uint32_t>(connection.awaited.size());
      connection.awaited.push_back(start);
      if (keeps_steps_) connection.awaited_in.push_back(std::ssize(lane.done));
      connection.receiver = id;
      wake(connection.sender);
    }
    return true;
  }

  /// The connection between these ends, mostly that of the message at the same place in the step
  /// before.
  Connection& find(const Ends& ends, Message& message) {
    if (message.connection >= connections_.size() ||
        !(connections_[message.connection].ends == ends)) {
      const auto next = static_cast<std::uint32_t>(connections_.size());
      message.connection = numbers_.try_emplace(ends, next).first->second;
      if (message.connection == next) connections_.push_back({ends});
    }
    return connections_[message.connection];
  }

  /// Without slots a message begins when both ends are there.
  [[nodiscard]] std::optional<Depth> end_of(const Message& message) const {
    const Connection& connection = connections_[message.connection];
    if (message.which >= connection.sent.size()) return std::nullopt;
    const Depth sent = connection.sent[message.which];
    if (schedule_.slots() > 0) return sent + 1;
    if (message.which >= connection.awaited.size()) return std::nullopt;
    return std::max(sent, connection.awaited[message.which]) + 1;
  }

  [[nodiscard]] const Lane& lane_of(int rank, int lane) const {
    return lanes_[static_cast<std::size_t>(rank) * lanes_a_rank_ + static_cast<std::size_t>(lane)];
  }

  /// A step of one lane that waits for one of another.
  struct StepDependency {
    std::int64_t step = 0;
    std::int64_t awaited = 0;
  };

  const Schedule& schedule_;
  std::size_t lanes_a_rank_;
  bool keeps_steps_;
  std::vector<StepDependency> waits_;
  std::vector<Lane> lanes_;
  std::vector<std::uint32_t> queue_;
  std::vector<Connection> connections_;
  std::unordered_map<Ends, std::uint32_t, HashOfEnds> numbers_;
  ScheduleStep step_;
};

std::int64_t steps_of(const Schedule& schedule) {
  std::int64_t steps = 0;
  for (int rank = 0; rank < schedule.ranks(); ++rank)
    for (int lane = 0; lane < schedule.lanes(); ++lane) steps += schedule.steps(rank, lane);
  return steps;
}

}  // namespace

std::optional<std::int64_t> steady_depth(const Schedule& schedule, std::int64_t most_steps) {
  constexpr std::int64_t kFirstTry = 16;
  const std::vector<Phase> phases = schedule.phases();
  if (phases.empty()) return std::nullopt;
  const Phase phase = *std::ranges::max_element(phases, {}, &Phase::count);
  for (std::int64_t kept = kFirstTry; 2 * kept <= phase.count; kept *= 2) {
    const ShortenedSchedule shortened{schedule, phase, kept};
    if (kept == kFirstTry && !shortened.is_complete()) return std::nullopt;
    if (steps_of(shortened) > most_steps) return std::nullopt;
    Depths depths{shortened, true};
    if (!depths.run()) return std::nullopt;
    const auto adds = depths.adds_per_step(shortened.phase());
    if (!adds) continue;
    return std::max(depths.deepest(0, phase.first),
                    depths.deepest(phase.first + 1, INT64_MAX) + *adds * shortened.left_out());
  }
  return std::nullopt;
}

std::optional<std::int64_t> message_depth(const Schedule& schedule, std::int64_t most_steps) {
  if (const auto depth = depth_by_rounds(schedule, most_steps)) return depth;
  if (const auto depth = steady_depth(schedule, most_steps)) return depth;
  if (steps_of(schedule) > most_steps) return std::nullopt;
  return Depths{schedule}.run();
}

}  // namespace lockstep
