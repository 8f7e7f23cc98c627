#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "sim/base/fifo.hpp"
#include "sim/execute/schedule/block_memory.hpp"
#include "sim/schedule/schedule.hpp"

namespace lockstep {

/// A message of a round, with its source and destination blocks.
struct RoundMessage {
  ScheduleStepIndex sender;
  ScheduleStepIndex receiver;
  int channel = 0;
  std::vector<Chunk> sent;
  std::vector<Chunk> received;
  Combine combine = Combine::copy;
  std::int64_t blocks = 0;
  std::int64_t left = 0;  // round in which it was sent; earlier than its receipt with slots
};

struct RoundLocal {
  ScheduleStepIndex place;
  LocalOperation operation;
};

/// Events of one round. Round 0: before the first message.
struct Round {
  std::int64_t number = 0;
  std::vector<RoundMessage> messages;  // by sender, in posting order
  std::vector<RoundLocal> locals;      // after the messages have arrived
};

/// Where and why a schedule halts.
struct RoundStop {
  ScheduleStepIndex place;
  std::int64_t round = 0;  // of the failed step
  std::string what;        // the end of a sentence that starts with the step's name
};

/// Executes a schedule as if every message took one unit of time and everything else none: round k
/// contains the messages that start after k-1 units. With one lane and ranks in step it equals the
/// step index. Sends are read when their step starts; data of a round is written after all sends of
/// its steps have been read.
class RoundSimulator {
 public:
  /// Both must outlive this object. `slots`: overrides the schedule's.
  RoundSimulator(const Schedule& schedule, BlockMemory& memory, std::optional<int> slots = {});
  RoundSimulator(const RoundSimulator&) = delete;
  RoundSimulator& operator=(const RoundSimulator&) = delete;
  ~RoundSimulator() = default;

  /// Advances to the next round with events; false at the end and if the schedule halts: see
  /// stopped().
  [[nodiscard]] bool next(Round& round);
  /// None unless the schedule halted.
  [[nodiscard]] const std::optional<RoundStop>& stopped() const { return stopped_; }

 private:
  struct Connection;
  struct Lane {
    ScheduleStepIndex place;  // current step
    std::int64_t steps = 0;
    std::int64_t pending = 0;  // its incomplete transfers
    std::vector<std::size_t> waiters{};
    Connection* holds = nullptr;  // slot released when the current step finishes
    Connection* took = nullptr;   // slot released by the next step
  };
  struct PostedSend {
    std::size_t lane = 0;
    ScheduleStepIndex place;
    std::size_t index = 0;  // among the step's sends
    std::vector<Chunk> runs;
    BlockMemory::Payload payload;
    std::int64_t left = 0;
  };
  struct PostedReceive {
    std::size_t lane = 0;
    ScheduleStepIndex place;
    std::vector<Chunk> runs;
    Combine combine = Combine::copy;
    bool forwarded = false;
  };
  struct Connection {
    int channel = 0;
    Fifo<PostedSend> sends;
    Fifo<PostedSend> arrived;  // with slots: sent and not yet received
    Fifo<PostedReceive> receives;
    std::size_t held = 0;  // slots of received messages that are still to be forwarded
    bool listed = false;
  };
  using Key = std::tuple<int, int, int>;  // from, to, channel

  [[nodiscard]] std::size_t lane_index(int rank, int lane) const;
  void settle();
  void begin(std::size_t lane);
  [[nodiscard]] bool must_wait(std::size_t lane, const ScheduleStep& step);
  void post(std::size_t lane, const ScheduleStep& step);
  [[nodiscard]] Connection& connection(int from, int to, int channel);
  void send_all();
  void send(Connection& between, std::vector<std::size_t>& over);
  void take_arrived();
  void take(Connection& between, PostedSend sent, std::vector<std::size_t>& over);
  void transfers_over(const std::vector<std::size_t>& lanes);
  void end_step(std::size_t lane);
  void order_messages();
  /// These throw a RoundStop, caught by next().
  [[noreturn]] static void stop(const ScheduleStepIndex& place, std::int64_t round,
                                std::string what);
  [[noreturn]] void stop_stuck() const;
  [[nodiscard]] bool play(Round& round);

  const Schedule& schedule_;
  BlockMemory& memory_;
  std::size_t slots_;
  std::vector<Lane> lanes_;
  std::deque<std::size_t> may_begin_;
  std::map<Key, Connection> connections_;
  std::map<Key, Connection*> active_;  // with messages that may be sent or received
  std::vector<std::size_t> order_;     // of the round's messages: index in their step
  std::int64_t number_ = -1;
  bool moved_ = false;  // something was sent in this round
  Round* round_ = nullptr;
  std::optional<RoundStop> stopped_;
};

}  // namespace lockstep
