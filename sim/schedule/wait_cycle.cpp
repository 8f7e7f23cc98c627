#include "sim/schedule/wait_cycle.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>

#include "sim/base/check.hpp"

namespace lockstep {
namespace {

/// The messages that a rank has still to post: for every connection the lane of the next one.
class Unposted {
 public:
  Unposted(const Schedule& schedule, int rank, std::span<const LanePosition> lanes) {
    ScheduleStep step;
    for (int lane = 0; lane < schedule.lanes(); ++lane) {
      const LanePosition& position = lanes[static_cast<std::size_t>(lane)];
      const std::int64_t steps = schedule.steps(rank, lane);
      for (std::int64_t i = position.done + (position.begun ? 1 : 0); i < steps; ++i) {
        step.clear();
        schedule.step(rank, lane, i, step);
        for (const Send& send : step.sends)
          lanes_.try_emplace({true, send.peer, send.channel}, lane);
        for (const Receive& receive : step.receives)
          lanes_.try_emplace({false, receive.peer, receive.channel}, lane);
      }
    }
  }

  [[nodiscard]] std::optional<int> lane_that_sends(int peer, int channel) const {
    return find({true, peer, channel});
  }
  [[nodiscard]] std::optional<int> lane_that_receives(int peer, int channel) const {
    return find({false, peer, channel});
  }

 private:
  using Key = std::tuple<bool, int, int>;  // sends, peer, channel

  [[nodiscard]] std::optional<int> find(const Key& key) const {
    const auto found = lanes_.find(key);
    if (found == lanes_.end()) return std::nullopt;
    return found->second;
  }

  std::map<Key, int> lanes_;
};

/// A wait and the lane, as an index over all ranks, that would have to move for it to end.
struct Edge {
  LaneWait wait;
  std::size_t to = 0;
};

class WaitGraph {
 public:
  WaitGraph(const Schedule& schedule, std::span<const LanePosition> positions)
      : schedule_{schedule}, positions_{positions} {
    LOCKSTEP_CHECK(std::ssize(positions) == std::int64_t{schedule.ranks()} * schedule.lanes());
    edges_.resize(positions.size());
    for (std::size_t lane = 0; lane < positions.size(); ++lane) add_edges(lane);
  }

  [[nodiscard]] std::vector<LaneWait> find() const {
    if (for_nobody_) return {*for_nobody_};
    const std::vector<std::size_t> some = some_ring();
    std::vector<LaneWait> shortest;
    constexpr std::size_t kStarts = 64;  // enough to find a short one where there is one
    for (std::size_t i = 0; i < std::min(some.size(), kStarts); ++i) {
      std::vector<LaneWait> ring = shortest_ring(some[i]);
      if (shortest.empty() || ring.size() < shortest.size()) shortest = std::move(ring);
    }
    return shortest;
  }

 private:
  [[nodiscard]] int rank_of(std::size_t lane) const {
    return static_cast<int>(lane / static_cast<std::size_t>(schedule_.lanes()));
  }
  [[nodiscard]] int lane_of(std::size_t lane) const {
    return static_cast<int>(lane % static_cast<std::size_t>(schedule_.lanes()));
  }
  [[nodiscard]] std::size_t index(int rank, int lane) const {
    return static_cast<std::size_t>(rank) * static_cast<std::size_t>(schedule_.lanes()) +
           static_cast<std::size_t>(lane);
  }

  void add_edges(std::size_t lane) {
    const LanePosition& position = positions_[lane];
    if (position.done == schedule_.steps(rank_of(lane), lane_of(lane))) return;
    step_.clear();
    schedule_.step(rank_of(lane), lane_of(lane), position.done, step_);
    if (!position.begun) return add_named_steps(lane);
    for (const std::uint32_t open : position.open_sends) {
      const Send& send = step_.sends[open];
      const auto other = unposted(send.peer).lane_that_receives(rank_of(lane), send.channel);
      add(lane, wait_of(lane, LaneWait::Kind::send, send.peer, send.channel), other);
    }
    for (const std::uint32_t open : position.open_receives) {
      const Receive& receive = step_.receives[open];
      const auto other = unposted(receive.peer).lane_that_sends(rank_of(lane), receive.channel);
      add(lane, wait_of(lane, LaneWait::Kind::receive, receive.peer, receive.channel), other);
    }
  }

  void add_named_steps(std::size_t lane) {
    for (const ScheduleStepRef& after : step_.after) {
      if (positions_[index(rank_of(lane), after.lane)].done > after.step) continue;
      LaneWait wait = wait_of(lane, LaneWait::Kind::step, rank_of(lane), 0);
      wait.named = after;
      add(lane, wait, after.lane);
    }
  }

  [[nodiscard]] LaneWait wait_of(std::size_t lane, LaneWait::Kind kind, int peer,
                                 int channel) const {
    LaneWait wait;
    wait.rank = rank_of(lane);
    wait.lane = lane_of(lane);
    wait.step = positions_[lane].done;
    wait.kind = kind;
    wait.peer = peer;
    wait.channel = channel;
    return wait;
  }

  void add(std::size_t lane, LaneWait wait, std::optional<int> other_lane) {
    wait.for_nobody = !other_lane.has_value();
    if (wait.for_nobody) {
      if (!for_nobody_) for_nobody_ = wait;
      return;
    }
    edges_[lane].push_back({wait, index(wait.peer, *other_lane)});
  }

  const Unposted& unposted(int rank) {
    auto found = unposted_.find(rank);
    if (found == unposted_.end()) {
      const auto lanes = static_cast<std::size_t>(schedule_.lanes());
      const auto mine = positions_.subspan(index(rank, 0), lanes);
      found = unposted_.try_emplace(rank, schedule_, rank, mine).first;
    }
    return found->second;
  }

  /// Follows first waits from the first lane that waits until a lane comes again.
  [[nodiscard]] std::vector<std::size_t> some_ring() const {
    std::size_t at = 0;
    while (at < edges_.size() && edges_[at].empty()) ++at;
    if (at == edges_.size()) return {};
    std::vector<std::size_t> way;
    std::unordered_map<std::size_t, std::size_t> seen;  // lane to its place in the way
    while (seen.try_emplace(at, way.size()).second) {
      way.push_back(at);
      if (edges_[at].empty()) return {};  // it could go on: not stuck after all
      at = edges_[at].front().to;
    }
    way.erase(way.begin(), way.begin() + static_cast<std::ptrdiff_t>(seen[at]));
    return way;
  }

  /// Breadth first from a lane back to itself.
  [[nodiscard]] std::vector<LaneWait> shortest_ring(std::size_t start) const {
    std::vector<std::size_t> queue{start};
    std::unordered_map<std::size_t, std::pair<std::size_t, const Edge*>> came_from;
    for (std::size_t head = 0; head < queue.size(); ++head) {
      for (const Edge& edge : edges_[queue[head]]) {
        if (!came_from.try_emplace(edge.to, queue[head], &edge).second) continue;
        if (edge.to == start) return way_to(start, came_from);
        queue.push_back(edge.to);
      }
    }
    return {};
  }

  [[nodiscard]] static std::vector<LaneWait> way_to(
      std::size_t start,
      const std::unordered_map<std::size_t, std::pair<std::size_t, const Edge*>>& came_from) {
    std::vector<LaneWait> ring;
    std::size_t at = start;
    do {
      const auto& [before, edge] = came_from.at(at);
      ring.push_back(edge->wait);
      at = before;
    } while (at != start);
    std::reverse(ring.begin(), ring.end());
    return ring;
  }

  const Schedule& schedule_;
  std::span<const LanePosition> positions_;
  std::vector<std::vector<Edge>> edges_;  // per lane
  std::optional<LaneWait> for_nobody_;    // of the lowest rank and lane
  std::unordered_map<int, Unposted> unposted_;
  ScheduleStep step_;
};

std::string name_of(const Schedule& schedule, const LaneWait& wait) {
  return schedule.lanes() > 1
             ? fmt::format("rank {} lane {} step {}", wait.rank, wait.lane, wait.step)
             : fmt::format("rank {} step {}", wait.rank, wait.step);
}

std::string on_channel(const LaneWait& wait) {
  return wait.channel == 0 ? std::string{} : fmt::format(" on channel {}", wait.channel);
}

std::string sentence(const Schedule& schedule, const LaneWait& wait) {
  const std::string who = name_of(schedule, wait);
  if (wait.kind == LaneWait::Kind::step)
    return fmt::format("{} waits for step {} of lane {}", who, wait.named.step, wait.named.lane);
  return fmt::format("{} waits to {} rank {}{}", who,
                     wait.kind == LaneWait::Kind::send ? "send to" : "receive from", wait.peer,
                     on_channel(wait));
}

/// What the peer would have to do and has no step for.
std::string missing_part(const LaneWait& wait) {
  return fmt::format("rank {} never {} rank {}{} after that", wait.peer,
                     wait.kind == LaneWait::Kind::send ? "receives from" : "sends to", wait.rank,
                     on_channel(wait));
}

}  // namespace

std::vector<LaneWait> wait_cycle(const Schedule& schedule,
                                 std::span<const LanePosition> positions) {
  return WaitGraph{schedule, positions}.find();
}

std::string describe_waits(const Schedule& schedule, std::span<const LaneWait> waits) {
  if (waits.empty()) return {};
  if (waits.front().for_nobody)
    return sentence(schedule, waits.front()) + " <- " + missing_part(waits.front());
  constexpr std::size_t kShown = 8;
  std::string text;
  for (std::size_t i = 0; i < waits.size(); ++i) {
    if (waits.size() > kShown && i == kShown - 2) {
      text += fmt::format("... {} more ... <- ", waits.size() - kShown + 1);
      i = waits.size() - 1;
    }
    text += sentence(schedule, waits[i]) + " <- ";
  }
  return text + name_of(schedule, waits.front());
}

}  // namespace lockstep
