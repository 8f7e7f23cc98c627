#include "sim/schedule/round_depths.hpp"

#include <algorithm>
#include <tuple>
#include <vector>

namespace lockstep {
namespace {

/// One end of a message, by its connection.
struct End {
  int from = 0;
  int to = 0;
  int channel = 0;
  std::uint32_t lane = 0;

  [[nodiscard]] auto connection() const { return std::tuple{from, to, channel}; }
};

struct Message {
  std::uint32_t from = 0;  // lanes
  std::uint32_t to = 0;
};

class RoundDepths {
 public:
  RoundDepths(const Schedule& schedule, std::int64_t most_steps)
      : schedule_{schedule}, lanes_a_rank_{schedule.lanes()}, steps_left_{most_steps} {
    for (int rank = 0; rank < schedule.ranks(); ++rank) {
      for (int lane = 0; lane < lanes_a_rank_; ++lane) {
        steps_.push_back(schedule.steps(rank, lane));
        rounds_ = std::max(rounds_, steps_.back());
      }
    }
    depth_.assign(steps_.size(), 0);
    begun_.assign(steps_.size(), 0);
  }

  std::optional<std::int64_t> run() {
    const std::vector<Phase> phases = schedule_.phases();
    auto phase = phases.begin();
    for (std::int64_t round = 0; round < rounds_;) {
      while (phase != phases.end() && phase->first + phase->count <= round) ++phase;
      if (!read(round)) return std::nullopt;
      std::int64_t times = 1;
      if (phase != phases.end() && phase->first <= round)
        times = std::min(phase->first + phase->count, shortest_) - round;
      repeat(std::max<std::int64_t>(times, 1));
      round += std::max<std::int64_t>(times, 1);
    }
    return depth_.empty() ? 0 : *std::max_element(depth_.begin(), depth_.end());
  }

 private:
  /// Finds the round's messages and where lanes stand when they begin it.
  bool read(std::int64_t round) {
    sent_.clear();
    received_.clear();
    shortest_ = INT64_MAX;
    for (std::uint32_t lane = 0; lane < steps_.size(); ++lane) {
      if (round >= steps_[lane]) continue;
      shortest_ = std::min(shortest_, steps_[lane]);
      if (--steps_left_ < 0 || !read_step(lane, round)) return false;
    }
    for (const auto& [lane, depth] : waited_) depth_[lane] = std::max(depth_[lane], depth);
    waited_.clear();
    return match();
  }

  bool read_step(std::uint32_t lane, std::int64_t round) {
    const int rank = static_cast<int>(lane) / lanes_a_rank_;
    step_.clear();
    schedule_.step(rank, static_cast<int>(lane) % lanes_a_rank_, round, step_);
    for (const ScheduleStepRef& ref : step_.after) {
      const auto other = static_cast<std::uint32_t>(rank * lanes_a_rank_ + ref.lane);
      if (ref.step != std::min(round, steps_[other]) - 1) return false;
      waited_.emplace_back(lane, depth_[other]);
    }
    for (const Send& send : step_.sends) sent_.push_back({rank, send.peer, send.channel, lane});
    for (const Receive& receive : step_.receives)
      received_.push_back({receive.peer, rank, receive.channel, lane});
    return true;
  }

  /// Both ends of every message, where those are in this round.
  bool match() {
    if (sent_.size() != received_.size()) return false;
    std::ranges::sort(sent_, {}, &End::connection);
    std::ranges::sort(received_, {}, &End::connection);
    messages_.clear();
    for (std::size_t i = 0; i < sent_.size(); ++i) {
      if (sent_[i].connection() != received_[i].connection()) return false;
      messages_.push_back({sent_[i].lane, received_[i].lane});
    }
    return true;
  }

  /// The round, repeated; once it makes all lanes one message deeper, it does so every time.
  void repeat(std::int64_t times) {
    for (std::int64_t done = 0; done < times; ++done) {
      for (const Message& message : messages_)
        for (const std::uint32_t lane : {message.from, message.to}) begun_[lane] = depth_[lane];
      for (const Message& message : messages_) {
        const std::int64_t end = std::max(begun_[message.from], begun_[message.to]) + 1;
        depth_[message.from] = std::max(depth_[message.from], end);
        depth_[message.to] = std::max(depth_[message.to], end);
      }
      const bool steady = std::ranges::all_of(messages_, [this](const Message& message) {
        return depth_[message.from] == begun_[message.from] + 1 &&
               depth_[message.to] == begun_[message.to] + 1;
      });
      if (steady) return add(times - done - 1);
    }
  }

  void add(std::int64_t more) {
    for (const Message& message : messages_)
      for (const std::uint32_t lane : {message.from, message.to})
        depth_[lane] = begun_[lane] + 1 + more;
  }

  const Schedule& schedule_;
  int lanes_a_rank_;
  std::int64_t steps_left_;
  std::int64_t rounds_ = 0;
  std::int64_t shortest_ = 0;        // steps of the lane with fewest, of those in this round
  std::vector<std::int64_t> steps_;  // per lane
  std::vector<std::int64_t> depth_;  // per lane: messages that ended before it is where it is
  std::vector<std::int64_t> begun_;  // the same when it began the round
  std::vector<std::pair<std::uint32_t, std::int64_t>> waited_;  // lanes, for what of their rank
  std::vector<End> sent_;
  std::vector<End> received_;
  std::vector<Message> messages_;
  ScheduleStep step_;
};

}  // namespace

std::optional<std::int64_t> depth_by_rounds(const Schedule& schedule, std::int64_t most_steps) {
  if (schedule.slots() > 0 || schedule.phases().empty()) return std::nullopt;
  return RoundDepths{schedule, most_steps}.run();
}

}  // namespace lockstep
