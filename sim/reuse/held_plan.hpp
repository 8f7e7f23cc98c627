#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "sim/network/network.hpp"
#include "sim/schedule/workload.hpp"

namespace lockstep {

/// When the members of a call end, of whose transfers each is alone on its links: lanes do one step
/// after the other, and a message goes when both its ends have come to it.
class HeldPlan {
 public:
  /// Time of a message without contention.
  using Takes = std::function<Duration(int from, int to, int channel, Bytes bytes)>;
  /// None if steps copy or reduce in memory, a step has two messages of one connection, there are
  /// more than `most` messages, or a member may end before all have begun.
  [[nodiscard]] static std::optional<HeldPlan> of(const CollectiveCall& call, const Takes& takes,
                                                  std::size_t most);

  /// The same course of a call whose messages take other times.
  [[nodiscard]] HeldPlan with(const Takes& takes) const;

  [[nodiscard]] std::size_t messages() const { return course_->messages; }
  /// Whether a member has at most one message in flight each way. Otherwise it has at most one on
  /// each connection.
  [[nodiscard]] bool one_each_way() const { return course_->one_each_way; }
  /// The end of each member, from its begin.
  [[nodiscard]] std::vector<TimePoint> ends(const std::vector<TimePoint>& begins) const;

 private:
  /// What lanes do, in an order in which each is possible when it comes.
  struct Action {
    enum class Kind : std::uint8_t {
      message,  // from one lane to another; may end the step of either
      end,      // lane `from` ends a step that step `to` (of those that wait) waits for
      wait      // lane `to` begins step `from` (of those that wait)
    };
    std::uint32_t from = 0;
    std::uint32_t to = 0;
    std::uint32_t message = 0;  // a kind of message
    Kind kind = Kind::message;
    bool ends_step_of_sender = false;
    bool ends_step_of_receiver = false;
  };
  /// Messages of one connection that have equal sizes.
  struct Message {
    int from = 0;
    int to = 0;
    int channel = 0;
    Bytes bytes;
  };
  /// What follows from the schedule alone.
  struct Course {
    std::vector<Action> actions{};
    std::vector<Message> kinds{};  // of messages
    std::size_t messages = 0;
    std::size_t waiting = 0;  // steps that wait for steps of other lanes
    std::uint32_t lanes = 1;
    bool one_each_way = true;
  };
  class Writer;

  HeldPlan(std::shared_ptr<const Course> course, const Takes& takes);

  std::shared_ptr<const Course> course_;
  std::vector<Duration> takes_;  // per kind of message
};

/// Time of `bytes` over a route whose links carry nothing else, in the fluid model.
[[nodiscard]] Duration time_alone(const Network& network, const Route& route, Bytes bytes);

}  // namespace lockstep
