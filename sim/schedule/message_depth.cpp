#include "sim/schedule/message_depth.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

namespace lockstep {

namespace {

/// Messages that ended before a step could begin, or before it was done.
using Depth = std::int64_t;
constexpr Depth kUnknown = -1;

/// Both ends of a connection, as far as the lanes have come: one entry a message, in order.
struct Connection {
  std::vector<Depth> sent;     // when the sender's step began
  std::vector<Depth> awaited;  // when the receiver's step began
};

struct Lane {
  int rank = 0;
  int lane = 0;
  std::vector<Depth> done;              // by step
  bool posted = false;                  // its next step has told its connections where it is
  Depth start = 0;                      // of that step
  std::vector<std::size_t> sends{};     // of that step: places in `sent` of the connections
  std::vector<std::size_t> receives{};  // likewise in `awaited`
};

class Depths {
 public:
  explicit Depths(const Schedule& schedule) : schedule_{schedule} {
    for (int rank = 0; rank < schedule.ranks(); ++rank)
      for (int lane = 0; lane < schedule.lanes(); ++lane) lanes_.push_back({rank, lane, {}});
  }

  std::optional<std::int64_t> run() {
    bool moved = true;
    while (moved) {
      moved = false;
      for (Lane& lane : lanes_)
        while (advance(lane)) moved = true;
    }
    Depth most = 0;
    for (const Lane& lane : lanes_) {
      if (!is_over(lane)) return std::nullopt;
      if (!lane.done.empty()) most = std::max(most, lane.done.back());
    }
    return most;
  }

 private:
  [[nodiscard]] bool is_over(const Lane& lane) const {
    return std::ssize(lane.done) == schedule_.steps(lane.rank, lane.lane);
  }

  /// Does the lane's next step, or as much of it as can be.
  bool advance(Lane& lane) {
    if (is_over(lane)) return false;
    step_.clear();
    schedule_.step(lane.rank, lane.lane, std::ssize(lane.done), step_);
    const bool posts = !lane.posted;
    if (posts && !post(lane)) return false;
    const Depth end = end_of(lane);
    if (end == kUnknown) return posts;
    lane.done.push_back(end);
    lane.posted = false;
    return true;
  }

  bool post(Lane& lane) {
    lane.start = lane.done.empty() ? 0 : lane.done.back();
    for (const StepRef& after : step_.after) {
      const std::vector<Depth>& others = lane_of(lane.rank, after.lane).done;
      if (after.step >= std::ssize(others)) return false;
      lane.start = std::max(lane.start, others[static_cast<std::size_t>(after.step)]);
    }
    lane.posted = true;
    lane.sends.clear();
    lane.receives.clear();
    for (const Send& send : step_.sends)
      lane.sends.push_back(append(connection(lane.rank, send.peer, send.channel).sent, lane.start));
    for (const Receive& receive : step_.receives)
      lane.receives.push_back(
          append(connection(receive.peer, lane.rank, receive.channel).awaited, lane.start));
    return true;
  }

  static std::size_t append(std::vector<Depth>& depths, Depth depth) {
    depths.push_back(depth);
    return depths.size() - 1;
  }

  [[nodiscard]] Depth end_of(const Lane& lane) {
    Depth end = lane.start;
    for (std::size_t i = 0; i < step_.sends.size(); ++i) {
      const Send& send = step_.sends[i];
      const Depth message = end_of(connection(lane.rank, send.peer, send.channel), lane.sends[i]);
      if (message == kUnknown) return kUnknown;
      end = std::max(end, message);
    }
    for (std::size_t i = 0; i < step_.receives.size(); ++i) {
      const Receive& receive = step_.receives[i];
      const Depth message =
          end_of(connection(receive.peer, lane.rank, receive.channel), lane.receives[i]);
      if (message == kUnknown) return kUnknown;
      end = std::max(end, message);
    }
    return end;
  }

  /// Without slots a message begins when both ends are there.
  [[nodiscard]] bool meets() const { return schedule_.slots() == 0; }

  [[nodiscard]] Depth end_of(const Connection& connection, std::size_t which) const {
    if (which >= connection.sent.size()) return kUnknown;
    if (!meets()) return connection.sent[which] + 1;
    if (which >= connection.awaited.size()) return kUnknown;
    return std::max(connection.sent[which], connection.awaited[which]) + 1;
  }

  Lane& lane_of(int rank, int lane) {
    return lanes_[static_cast<std::size_t>(rank) * static_cast<std::size_t>(schedule_.lanes()) +
                  static_cast<std::size_t>(lane)];
  }
  Connection& connection(int from, int to, int channel) {
    return connections_[{from, to, channel}];
  }

  const Schedule& schedule_;
  std::vector<Lane> lanes_;
  std::map<std::tuple<int, int, int>, Connection> connections_;
  Step step_;
};

}  // namespace

std::optional<std::int64_t> message_depth(const Schedule& schedule, std::int64_t most_steps) {
  std::int64_t steps = 0;
  for (int rank = 0; rank < schedule.ranks(); ++rank)
    for (int lane = 0; lane < schedule.lanes(); ++lane) steps += schedule.steps(rank, lane);
  if (steps > most_steps) return std::nullopt;
  return Depths{schedule}.run();
}

}  // namespace lockstep
