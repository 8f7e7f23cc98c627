#include <algorithm>
#include <utility>

#include "sim/base/check.hpp"
#include "sim/network/link_calendar.hpp"
#include "sim/network/transport.hpp"

namespace lockstep {

namespace {

/// Whole messages on FIFO links with unlimited buffers, cut-through: a message's head moves on
/// after the link's latency, its tail leaves a link no earlier than it arrived there. On one
/// uncontended path a message takes the sum of latencies plus its length over the smallest
/// bandwidth, as in the fluid model.
///
/// A message takes its length over a link's own bandwidth of that link's time. One that is there as
/// fast as the link sends takes the first time that is free, in the order of heads. One that
/// trickles in from a slower link takes the last that is free before its tail is there, since no
/// byte can leave before it came; what is free before that is for others. So a port takes in what
/// its bandwidth allows, whatever the links behind it: n messages of S bytes that come at rate b
/// each end together after S/b where the port carries n*b, as in the fluid model.
class QueueTransport final : public Transport {
 public:
  explicit QueueTransport(const Network& network) : links_(network.links.size()) {
    for (std::size_t i = 0; i < links_.size(); ++i) {
      links_[i].bandwidth = network.links[i].bandwidth;
      links_[i].latency = network.links[i].latency;
    }
  }

  [[nodiscard]] std::unique_ptr<Transport> clone() const override {
    return std::make_unique<QueueTransport>(*this);
  }

  std::uint32_t start(const Message& message, const Route& route, EventQueue& queue) override {
    LOCKSTEP_CHECK(route.paths == 1);
    LOCKSTEP_CHECK(message.weight == 1);
    const std::uint32_t id = take_message();
    Carried& carried = messages_[id];
    carried.transfer = message.transfer;
    carried.size = message.size;
    carried.keep = message.keep;
    carried.announce = message.eager;
    carried.hops.assign(route.hops.begin(), route.hops.end());
    start_again(id, message.at, queue);
    return id;
  }

  void start_again(std::uint32_t kept, TimePoint at, EventQueue& queue) override {
    messages_[kept].next = 0;
    messages_[kept].tail = at;
    if (at == queue.now()) {
      step(kept, queue);
    } else {
      queue.push(make_event(TransportEvent::arrive, kept, at));
    }
  }

  void drop(std::uint32_t kept) override { spare_.push_back(kept); }

  void handle(const Event& event, EventQueue& queue, std::vector<TransferId>& arrived) override {
    if (static_cast<TransportEvent>(event.kind) == TransportEvent::arrive) {
      step(event.id, queue);
      return;
    }
    arrived.push_back(messages_[event.id].transfer);
    if (!messages_[event.id].keep) spare_.push_back(event.id);
  }

  void settle(EventQueue& /*queue*/) override {}

 private:
  struct LinkState {
    Rate bandwidth = Rate::from_steps(1);
    Duration latency;
    LinkCalendar calendar;
    Bytes memo_size;  // the last length worked out; most messages in a row are equal
    Duration memo_time;
  };
  struct Carried {
    TransferId transfer = 0;
    std::uint32_t next = 0;  // hop that the head is about to take
    bool keep = false;       // stays when it has arrived, to set out again
    bool announce = false;   // says when its last byte has left the first link
    Bytes size;
    TimePoint tail;  // when the last byte reaches that hop
    std::vector<Hop> hops;
  };

  std::uint32_t take_message() {
    if (spare_.empty()) {
      messages_.emplace_back();
      return static_cast<std::uint32_t>(messages_.size() - 1);
    }
    const std::uint32_t id = spare_.back();
    spare_.pop_back();
    return id;
  }

  /// The head stands before its next link now.
  void step(std::uint32_t id, EventQueue& queue) {
    Carried& message = messages_[id];
    if (message.next == message.hops.size()) {
      if (message.announce)
        queue.push(make_event(TransportEvent::left, message.transfer, message.tail));
      queue.push(make_event(TransportEvent::delivered, id, message.tail));
      return;
    }
    LinkState& link = links_[message.hops[message.next++].link];
    const Duration need = time_on(link, message.size);
    link.calendar.forget_before(queue.now());
    const TimePoint begin = link.calendar.free_from(queue.now());
    const bool trickles = begin + need < message.tail;
    const TimePoint end = trickles ? link.calendar.take_late(begin, message.tail, need)
                                   : std::max(link.calendar.take_early(begin, need), message.tail);
    message.tail = end + link.latency;
    if (message.announce) queue.push(make_event(TransportEvent::left, message.transfer, end));
    message.announce = false;
    const bool last = message.next == message.hops.size();
    queue.push(make_event(last ? TransportEvent::delivered : TransportEvent::arrive, id,
                          last ? message.tail : begin + link.latency));
  }

  static Duration time_on(LinkState& link, Bytes size) {
    if (link.memo_size != size) {
      link.memo_size = size;
      link.memo_time = size / link.bandwidth;
    }
    return link.memo_time;
  }

  std::vector<LinkState> links_;
  std::vector<Carried> messages_;
  std::vector<std::uint32_t> spare_;
};

}  // namespace

std::unique_ptr<Transport> make_queue_transport(const Network& network) {
  return std::make_unique<QueueTransport>(network);
}

}  // namespace lockstep
