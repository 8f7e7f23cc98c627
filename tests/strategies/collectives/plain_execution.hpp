#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/schedule/contract.hpp"

namespace lockstep {

/// A second opinion on schedules for tests: executes them in the plainest way, over and over all
/// lanes, and shares no code with the executor. A contribution (rank, block) is a 64-bit number
/// that looks random, and a sum is their sum modulo 2^64: two sums of different contributions agree
/// once in 2^64. Of a barrier, a rank's content is whom it has heard of.
class PlainExecution {
 public:
  PlainExecution(const Schedule& schedule, const Contract& contract)
      : schedule_{schedule}, contract_{contract} {}

  /// Whether the result is right where the given lane moves only when no other can (-1: none).
  [[nodiscard]] bool right(int starved_rank = -1, int starved_lane = -1) {
    begin();
    const Lane* starved = starved_rank < 0 ? nullptr : &lane(starved_rank, starved_lane);
    while (move_all(starved) || (starved != nullptr && move(lane(starved_rank, starved_lane)))) {
      if (broken_) return false;
    }
    return !broken_ && all_done() && result_is_right();
  }

  /// In every order that keeps one lane back, and in the plain one.
  [[nodiscard]] bool right_in_all_orders() {
    if (!right()) return false;
    if (schedule_.lanes() == 1) return true;
    for (int rank = 0; rank < schedule_.ranks(); ++rank) {
      for (int index = 0; index < schedule_.lanes(); ++index)
        if (schedule_.steps(rank, index) > 0 && !right(rank, index)) return false;
    }
    return true;
  }

 private:
  using Value = std::optional<std::uint64_t>;  // none: nobody wrote it

  struct Message {
    std::vector<Value> values;
    std::set<int> heard;
  };
  struct Lane {
    int rank = 0;
    int index = 0;
    std::int64_t done = 0;
    bool begun = false;
    ScheduleStep step;
    std::vector<std::size_t> send_numbers;  // on their connections
    std::vector<std::size_t> receive_numbers;
    std::vector<bool> received;
  };
  struct Connection {
    std::deque<Message> messages;
    std::size_t received = 0;
    std::size_t asked = 0;
  };

  void begin() {
    lanes_.clear();
    connections_.clear();
    values_.clear();
    heard_.assign(static_cast<std::size_t>(schedule_.ranks()), {});
    broken_ = false;
    for (int rank = 0; rank < schedule_.ranks(); ++rank) {
      heard_[static_cast<std::size_t>(rank)] = {rank};
      for (int index = 0; index < schedule_.lanes(); ++index) {
        lanes_.emplace_back();
        lanes_.back().rank = rank;
        lanes_.back().index = index;
      }
      for (std::int64_t block = 0; block < schedule_.blocks(); ++block) {
        Value& value = at(rank, Buffer::data, block);
        if (rank >= contract_.ranks)
          value = 0;
        else if (contract_.holds(rank, block))
          value = contribution(rank, block);
      }
    }
  }

  static std::uint64_t contribution(int rank, std::int64_t block) {
    std::uint64_t x =
        static_cast<std::uint64_t>(rank) * 1'000'003U + static_cast<std::uint64_t>(block) + 1;
    for (int i = 0; i < 3; ++i) x = (x ^ (x >> 29U)) * 0xbf58476d1ce4e5b9U;
    return x ^ (x >> 32U);
  }

  Value& at(int rank, Buffer buffer, std::int64_t block) { return values_[{rank, buffer, block}]; }
  Lane& lane(int rank, int index) {
    return lanes_[static_cast<std::size_t>(rank * schedule_.lanes() + index)];
  }

  bool move_all(const Lane* except) {
    bool moved = false;
    for (Lane& one : lanes_) {
      if (&one != except && move(one)) moved = true;
    }
    return moved;
  }

  /// Begins the lane's step, receives one message, or ends the step; false where it can do nothing.
  bool move(Lane& mine) {
    if (broken_ || mine.done == schedule_.steps(mine.rank, mine.index)) return false;
    if (!mine.begun) return begin_step(mine);
    for (std::size_t i = 0; i < mine.step.receives.size(); ++i) {
      if (!mine.received[i] && receive(mine, i)) return true;
    }
    return end_step(mine);
  }

  bool begin_step(Lane& mine) {
    mine.step.clear();
    schedule_.step(mine.rank, mine.index, mine.done, mine.step);
    for (const ScheduleStepRef& after : mine.step.after)
      if (lane(mine.rank, after.lane).done <= after.step) return false;
    mine.begun = true;
    mine.received.assign(mine.step.receives.size(), false);
    mine.send_numbers.clear();
    mine.receive_numbers.clear();
    for (const Send& send : mine.step.sends) {
      Connection& to = connections_[{mine.rank, send.peer, send.channel}];
      mine.send_numbers.push_back(to.messages.size());
      to.messages.push_back(
          {read(mine.rank, runs(mine.step, send)), heard_[static_cast<std::size_t>(mine.rank)]});
    }
    for (const Receive& receive : mine.step.receives)
      mine.receive_numbers.push_back(
          connections_[{receive.peer, mine.rank, receive.channel}].asked++);
    return true;
  }

  template <typename Transfer>
  static std::vector<Chunk> runs(const ScheduleStep& step, const Transfer& transfer) {
    std::vector<Chunk> out{transfer.chunk};
    for (const Chunk& chunk : step.more(transfer.more)) out.push_back(chunk);
    return out;
  }

  std::vector<Value> read(int rank, const std::vector<Chunk>& runs) {
    std::vector<Value> out;
    for (const Chunk& run : runs)
      for (std::int64_t i = 0; i < run.count; ++i)
        out.push_back(at(rank, run.buffer, run.first + i));
    return out;
  }

  bool receive(Lane& mine, std::size_t place) {
    const Receive& receive = mine.step.receives[place];
    Connection& from = connections_[{receive.peer, mine.rank, receive.channel}];
    const std::size_t number = mine.receive_numbers[place];
    if (from.received != number || from.messages.size() <= number) return false;
    mine.received[place] = true;
    ++from.received;
    for (const int rank : from.messages[number].heard)
      heard_[static_cast<std::size_t>(mine.rank)].insert(rank);
    write(mine.rank, runs(mine.step, receive), from.messages[number].values, receive.combine);
    return true;
  }

  void write(int rank, const std::vector<Chunk>& runs, const std::vector<Value>& values,
             Combine combine) {
    std::size_t next = 0;
    for (const Chunk& run : runs) {
      for (std::int64_t i = 0; i < run.count; ++i, ++next) {
        if (next == values.size()) {
          broken_ = true;
          return;
        }
        Value& into = at(rank, run.buffer, run.first + i);
        if (combine == Combine::copy)
          into = values[next];
        else if (into && values[next])
          *into += *values[next];
        else
          into.reset();
      }
    }
    if (next != values.size()) broken_ = true;
  }

  bool end_step(Lane& mine) {
    for (const bool received : mine.received)
      if (!received) return false;
    for (std::size_t i = 0; i < mine.step.sends.size(); ++i) {
      const Send& send = mine.step.sends[i];
      const Connection& to = connections_[{mine.rank, send.peer, send.channel}];
      if (mine.send_numbers[i] >= to.received + static_cast<std::size_t>(schedule_.slots()))
        return false;
    }
    for (const LocalOperation& local : mine.step.locals)
      write(mine.rank, {local.to}, read(mine.rank, {local.from}), local.combine);
    mine.begun = false;
    ++mine.done;
    return true;
  }

  [[nodiscard]] bool all_done() const {
    for (const Lane& one : lanes_)
      if (one.done != schedule_.steps(one.rank, one.index)) return false;
    for (const auto& [key, connection] : connections_)
      if (connection.received != connection.messages.size()) return false;
    return true;
  }

  [[nodiscard]] bool result_is_right() {
    for (int rank = 0; rank < contract_.ranks; ++rank) {
      if (contract_.collective == Collective::barrier) {
        for (int other = 0; other < contract_.ranks; ++other)
          if (heard_[static_cast<std::size_t>(rank)].count(other) == 0) return false;
        continue;
      }
      for (std::int64_t block = 0; block < schedule_.blocks(); ++block) {
        const Expected expected = contract_.expected(rank, block);
        if (!expected.anything && at(rank, contract_.result, block) != wanted(expected))
          return false;
      }
    }
    return true;
  }

  [[nodiscard]] std::uint64_t wanted(const Expected& expected) const {
    if (!expected.all_ranks) return contribution(expected.rank, expected.block);
    std::uint64_t sum = 0;
    for (int rank = 0; rank < contract_.ranks; ++rank) sum += contribution(rank, expected.block);
    return sum;
  }

  const Schedule& schedule_;
  const Contract& contract_;
  std::vector<Lane> lanes_;
  std::map<std::tuple<int, int, int>, Connection> connections_;  // from, to, channel
  std::map<std::tuple<int, Buffer, std::int64_t>, Value> values_;
  std::vector<std::set<int>> heard_;
  bool broken_ = false;
};

}  // namespace lockstep
