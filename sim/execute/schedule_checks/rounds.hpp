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

/// A message of a round, with the runs of blocks that it takes from the sender and where they go.
struct RoundMessage {
  ScheduleStepIndex sender;
  ScheduleStepIndex receiver;
  int channel = 0;
  std::vector<Chunk> sent;
  std::vector<Chunk> received;
  Combine combine = Combine::copy;
  std::int64_t blocks = 0;
  std::int64_t left = 0;  // the round in which it was sent; earlier than it is taken, with slots
};

struct RoundLocal {
  ScheduleStepIndex place;
  LocalOperation operation;
};

/// What happens between two instants. Round 0 is what ranks do before the first message.
struct Round {
  std::int64_t number = 0;
  std::vector<RoundMessage> messages;  // by sender, in the order of issue
  std::vector<RoundLocal> locals;      // when the messages have arrived
};

/// Where and why a schedule does not go on.
struct RoundStop {
  ScheduleStepIndex place;
  std::int64_t round = 0;  // in which the step would have
  std::string what;        // the end of a sentence that begins with the step's name
};

/// Plays a schedule as if every message took one unit of time and all else none: round k holds the
/// messages that then begin after k-1 units. With one lane whose ranks are in step, that is the
/// step's index. What a step sends is read when the step begins; what arrives in a round is written
/// when all that the round's steps send has been read.
class RoundSimulator {
 public:
  /// Both must outlive this. `slots`: in place of the schedule's.
  RoundSimulator(const Schedule& schedule, BlockMemory& memory, std::optional<int> slots = {});
  RoundSimulator(const RoundSimulator&) = delete;
  RoundSimulator& operator=(const RoundSimulator&) = delete;
  ~RoundSimulator() = default;

  /// The next round in which something happens; false when all is done, and where the schedule
  /// cannot go on or makes a mistake: see stopped().
  [[nodiscard]] bool next(Round& round);
  /// None as long as all goes well.
  [[nodiscard]] const std::optional<RoundStop>& stopped() const { return stopped_; }

 private:
  struct Connection;
  struct Lane {
    ScheduleStepIndex place;  // the step in hand
    std::int64_t steps = 0;
    std::int64_t pending = 0;  // its transfers that are not over
    std::vector<std::size_t> waiters{};
    Connection* holds = nullptr;  // a slot that the step in hand, when done, gives back
    Connection* took = nullptr;   // one that the next step will give back
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
    Fifo<PostedSend> arrived;  // with slots: sent and not yet taken
    Fifo<PostedReceive> receives;
    std::size_t held = 0;  // slots of messages that were taken and are being sent on
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
  /// These throw a RoundStop, which next() takes.
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
  std::map<Key, Connection*> active_;  // where a message may be sent or taken
  std::vector<std::size_t> order_;     // of the round's messages: their place in their step
  std::int64_t number_ = -1;
  bool moved_ = false;  // something has been sent in this round
  Round* round_ = nullptr;
  std::optional<RoundStop> stopped_;
};

}  // namespace lockstep
