#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "sim/network/network.hpp"
#include "sim/schedule/workload.hpp"

namespace lockstep {

/// When the members of a call end, of whose transfers each is alone on its links: every member does
/// one step after the other, each with at most one message to send and one to receive, and a
/// message goes when both its ends have come to it.
class HeldPlan {
 public:
  /// Time of a message without contention.
  using Takes = std::function<Duration(int from, int to, int channel, Bytes bytes)>;
  /// None if the schedule is of another kind, has more than `most` messages, or lets a member end
  /// before all have begun.
  [[nodiscard]] static std::optional<HeldPlan> of(const CollectiveCall& call, const Takes& takes,
                                                  std::size_t most);

  [[nodiscard]] std::size_t messages() const { return messages_.size(); }
  /// The end of each member, from its begin.
  [[nodiscard]] std::vector<TimePoint> ends(const std::vector<TimePoint>& begins) const;

 private:
  /// Messages in an order in which both ends have come to the first that is left.
  struct Message {
    Duration takes;
    std::uint32_t from = 0;
    std::uint32_t to = 0;
    bool ends_step_of_sender = false;
    bool ends_step_of_receiver = false;
  };
  class Writer;

  std::vector<Message> messages_;
};

/// Time of `bytes` over a route whose links carry nothing else, in the fluid model.
[[nodiscard]] Duration time_alone(const Network& network, const Route& route, Bytes bytes);

}  // namespace lockstep
