#include "sim/base/check.hpp"
#include "sim/engine/engine.hpp"

namespace lockstep {

// Connections with slots: a send leaves as soon as it has one, whether or not the receiver has
// come.

void Engine::post_slotted(const ConnectionKey& key, const Post& post, int slots) {
  SlottedConnection& connection = connections_[key];
  connection.slots = slots;
  if (!post.sending) {
    connection.receives.push(post);
    take_arrived(connection);
  } else if (connection.used < slots) {
    begin_eager(key, connection, post);
  } else {
    connection.sends.push(post);
  }
}

void Engine::begin_eager(const ConnectionKey& key, SlottedConnection& connection,
                         const Post& send) {
  const TransferId id = take_transfer();
  Transfer& transfer = transfers_[id];
  transfer = {.sender = send.track,
              .bytes = send.bytes,
              .from = endpoint_of(send.track),
              .to = endpoint_of_party(send, key.to),
              .channel = key.channel,
              .order = send.order,
              .instant = send.instant,
              .eager = true,
              .connection = key};
  account(transfer, 1);
  ++transfer_count_;
  if (!is_lane(send.track)) ++on_links_;
  ++connection.used;
  connection.on_the_way.push(id);
  if (issue_in_order_) {
    matched_.push_back(id);
  } else {
    start(id);
  }
}

/// Who sits at the far end of what `from` posted.
EndpointId Engine::endpoint_of_party(const Post& from, std::uint32_t party) const {
  if (!is_lane(from.track)) return party;
  const Lane& lane = lanes_[from.track];
  return workload_->calls[lane.call].members[party - calls_[lane.call].first_party];
}

/// Receivers take what has arrived, oldest first; one that reduces keeps the slot until it is done.
void Engine::take_arrived(SlottedConnection& connection) {
  while (!connection.receives.empty() && !connection.on_the_way.empty() &&
         transfers_[connection.on_the_way[0]].arrived) {
    const TransferId id = connection.on_the_way.pop();
    const Post receive = connection.receives.pop();
    Transfer& transfer = transfers_[id];
    LOCKSTEP_CHECK(transfer.bytes == receive.bytes);
    transfer.receiver = receive.track;
    transfer.forwarded = receive.forwarded;
    const std::optional<Rate>& rate = network_->endpoints[transfer.to].reduce_rate;
    if (receive.reduces && rate) {
      add_work({receive.track, false, transfer.bytes * receive.times, Kind::taken, id});
    } else {
      queue_.push(make_event(Kind::taken, id, queue_.now()));
    }
  }
}

void Engine::take(TransferId id) {
  const std::uint32_t receiver = transfers_[id].receiver;
  if (transfers_[id].forwarded) {
    lanes_[receiver].took = id;
  } else {
    free_slot(id);
  }
  transfer_done(receiver);
}

void Engine::free_slot(TransferId id) {
  const ConnectionKey key = transfers_[id].connection;
  spare_transfers_.push_back(id);
  SlottedConnection& connection = connections_.at(key);
  --connection.used;
  if (connection.sends.empty()) return;
  const Post next = connection.sends.pop();
  begin_eager(key, connection, next);
}

}  // namespace lockstep
