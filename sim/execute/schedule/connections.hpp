#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "sim/execute/schedule/block_memory.hpp"
#include "sim/execute/schedule/pool.hpp"
#include "sim/execute/schedule/step_problem.hpp"
#include "sim/schedule/schedule.hpp"

/// Posted and not yet received messages of an execution.
namespace lockstep::posted {

inline constexpr std::uint32_t kNone = UINT32_MAX;

/// A posted send without a matching receive.
struct PostedSend {
  std::uint32_t next = kNone;  // next on the connection
  std::uint32_t lane = 0;      // of the sender, as an index into LaneStates
  std::uint32_t place = 0;     // index in ScheduleStep::sends
  bool over = false;           // complete for the sender
  std::int64_t step = 0;
  std::int64_t blocks = 0;
  BlockMemory::Payload payload;
};

/// A posted receive without a matching send.
struct PostedReceive {
  std::uint32_t next = kNone;
  std::uint32_t lane = 0;
  std::uint32_t place = 0;
  Combine combine = Combine::copy;
  bool forwarded = false;
  std::int64_t blocks = 0;
  Chunk first;
  std::vector<Chunk> several;  // all runs, if more than one

  [[nodiscard]] std::span<const Chunk> runs() const {
    return several.empty() ? std::span{&first, 1} : std::span{several};
  }
};

/// Posted sends and receives between two ranks on one channel, in posting order.
struct Connection {
  int from = 0;
  int to = 0;
  int channel = 0;
  std::uint32_t next = kNone;  // another channel between the same ranks
  PooledQueue sends;
  PooledQueue receives;
  std::uint32_t over = 0;         // leading sends that are complete for their senders
  std::uint32_t waiting = kNone;  // the first send after those
  std::uint32_t sender = kNone;   // its lane
  std::uint32_t receiver = kNone;
  std::size_t held = 0;  // slots of received messages that are still to be forwarded

  [[nodiscard]] std::size_t used() const { return sends.size + held; }
};

/// Connections by number, created on first use.
class Connections {
 public:
  explicit Connections(int ranks) : ranks_{static_cast<std::size_t>(ranks)} {
    if (ranks_ <= kTabledRanks) table_.assign(ranks_ * ranks_, kNone);
  }

  [[nodiscard]] Connection& operator[](std::uint32_t number) { return all_[number]; }
  [[nodiscard]] const std::vector<Connection>& all() const { return all_; }

  [[nodiscard]] std::uint32_t number(int from, int to, int channel) {
    const std::size_t pair = static_cast<std::size_t>(from) * ranks_ + static_cast<std::size_t>(to);
    if (channel >= kListedChannels || table_.empty()) {
      const std::uint64_t key =
          std::uint64_t{pair} * kMostChannels + static_cast<std::uint64_t>(channel);
      return number(by_key_.try_emplace(key, kNone).first->second, from, to, channel);
    }
    std::uint32_t* at = &table_[pair];
    while (*at != kNone && all_[*at].channel != channel) at = &all_[*at].next;
    return number(*at, from, to, channel);
  }

 private:
  static constexpr std::size_t kTabledRanks = 2048;  // with a table of at most 16 MiB
  static constexpr int kListedChannels = 16;

  std::uint32_t number(std::uint32_t& known, int from, int to, int channel) {
    if (known != kNone) return known;
    const auto added = static_cast<std::uint32_t>(all_.size());
    known = added;  // first: it may be an element of all_
    Connection between;
    between.from = from;
    between.to = to;
    between.channel = channel;
    all_.push_back(between);
    return added;
  }

  std::size_t ranks_;
  std::vector<Connection> all_;
  std::vector<std::uint32_t> table_;  // by from and to: the first channel used
  std::unordered_map<std::uint64_t, std::uint32_t> by_key_;  // by from, to, channel: all others
};

}  // namespace lockstep::posted
