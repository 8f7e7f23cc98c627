#include "sim/engine/transfers.hpp"

#include <algorithm>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "sim/base/check.hpp"
#include "sim/engine/held_calls.hpp"
#include "sim/engine/local_work.hpp"
#include "sim/engine/reused_calls.hpp"
#include "sim/engine/tracks.hpp"

namespace lockstep::engine {

namespace {

std::unique_ptr<Transport> make_transport(const Network& network, NetworkModel model) {
  switch (model) {
    case NetworkModel::fluid:
      return make_fluid_transport(network);
    case NetworkModel::alpha_beta:
      return make_alpha_beta_transport(network);
    case NetworkModel::queue:
      return make_queue_transport(network);
  }
  throw InternalError("no such network model");
}

/// Lists of transfers by `place`, each linked through its member `next`.
template <typename Transfers, typename Link, typename Place>
void put_in(Transfers& transfers, TransferId& head, Link next, Place place, TransferId id) {
  TransferId* at = &head;
  while (*at != kNone && transfers[*at].*place < transfers[id].*place) at = &(transfers[*at].*next);
  transfers[id].*next = *at;
  *at = id;
}

template <typename Transfers, typename Link>
void take_out(Transfers& transfers, TransferId& head, Link next, TransferId id) {
  TransferId* at = &head;
  while (*at != id) at = &(transfers[*at].*next);
  *at = transfers[id].*next;
}

}  // namespace

Transfers::Transfers(const ReplayState& state, const FrontierEnds& frontier)
    : transport_{make_transport(*state.network, state.model)},
      routes_{state.network->endpoints.size()},
      frontier_{frontier},
      send_free_(state.network->endpoints.size()),
      carried_(state.network->links.size(), 0) {}

/// Between instants: nothing is matched or arrives.
Transfers::Transfers(const Transfers& other)
    : transport_{other.transport_->clone()},
      routes_{other.routes_},
      matcher_{other.matcher_},
      connections_{other.connections_},
      frontier_{other.frontier_},
      transfers_{other.transfers_},
      spare_{other.spare_},
      send_free_{other.send_free_},
      carried_{other.carried_},
      sent_{other.sent_},
      count_{other.count_},
      finished_{other.finished_},
      messages_{other.messages_},
      log_{other.log_} {
  for (Transfer& each : transfers_)
    if (each.slotted != nullptr) each.slotted = &connections_.use(each.connection);
}

void Transfers::join(const Siblings& siblings) {
  state_ = &siblings.state;
  tracks_ = &siblings.tracks;
  collectives_ = &siblings.collectives;
  work_ = &siblings.work;
  reused_ = siblings.reused;
  held_ = siblings.held;
  frontier_.join(siblings.state);
}

void Transfers::post(const ConnectionKey& key, const Post& post, int slots) {
  if (slots > 0) return post_slotted(key, post, slots);
  if (frontier_.take(key.channel, post)) return;
  const std::optional<Post> met = matcher_.meet(key, post);
  if (!met) return;
  if (post.sending) {
    begin(key, post, *met);
  } else {
    begin(key, *met, post);
  }
}

void Transfers::begin(const ConnectionKey& key, const Post& send, const Post& receive) {
  LOCKSTEP_CHECK(send.bytes == receive.bytes);
  const TransferId id = take_room();
  Transfer& transfer = transfers_[id];
  transfer = {.sender = send.track,
              .receiver = receive.track,
              .bytes = send.bytes,
              .reduced = receive.bytes * receive.times,
              .from = tracks_->endpoint_of(send.track),
              .to = tracks_->endpoint_of(receive.track),
              .channel = key.channel,
              .send_place = send.place,
              .receive_place = receive.place,
              .order = send.order,
              .instant = send.instant,
              .reduces = receive.reduces,
              .bound = send.repeats && receive.repeats};
  find_tight(transfer);
  if (transfer.bound) {
    bind(id);
  } else {
    account(transfer, 1);
  }
  ++count_;
  if (!is_lane(send.track)) ++messages_;
  if (frontier_.has_member()) {
    if (send.track == external_track()) frontier_.member().begun(send.place);
    if (receive.track == external_track()) frontier_.member().begun(receive.place);
  }
  leave(id);
}

TransferId Transfers::take_room() {
  if (spare_.empty()) {
    transfers_.emplace_back();
    return static_cast<TransferId>(transfers_.size() - 1);
  }
  const TransferId id = spare_.back();
  spare_.pop_back();
  return id;
}

/// At once, or in its turn at the end of the instant.
void Transfers::leave(TransferId id) {
  if (state_->issue_in_order) {
    matched_.push_back(id);
  } else {
    start(id);
  }
}

/// Hands a transfer that may begin to the network.
void Transfers::start(TransferId id) {
  Transfer& transfer = transfers_[id];
  const TimePoint at = issue_time(transfer.from);
  transfer.start = at;
  if (held_ != nullptr && transfer.tight != nullptr)
    held_->count_transfer(transfer.tight->route, true);
  if (transfer.times > 1) {
    transport_->start_again(transfer.kept, at, state_->queue);
    return;
  }
  transfer.kept = transport_->start(
      {.transfer = id,
       .size = Bytes{transfer.bytes},
       .at = at,
       .weight = tracks_->traffic_weight(transfer.sender),
       .keep = transfer.bound,
       .eager = transfer.eager},
      transfer.tight != nullptr ? transfer.tight->route : route_of(transfer), state_->queue);
}

void Transfers::start_matched() {
  if (matched_.empty()) return;
  std::sort(matched_.begin(), matched_.end(), [this](TransferId a, TransferId b) {
    return issued_before(transfers_[a], transfers_[b]);
  });
  for (const TransferId id : matched_) start(id);
  matched_.clear();
}

bool Transfers::issued_before(const Transfer& a, const Transfer& b) const {
  if (!state_->by_track) return a.order < b.order;
  return std::tuple{a.instant, tracks_->order_of(a.sender), a.order} <
         std::tuple{b.instant, tracks_->order_of(b.sender), b.order};
}

/// When the sender's software issues its next message.
TimePoint Transfers::issue_time(EndpointId from) {
  if (!state_->issue_in_order) return state_->now();  // no software takes time
  const Duration overhead = state_->network->endpoints[from].message_overhead;
  if (overhead == Duration{}) return state_->now();
  TimePoint& free = send_free_[from];
  free = std::max(state_->now(), free) + overhead;
  return free;
}

/// Puts a transfer into the lists of both its ends, which are in the order of their steps.
void Transfers::bind(TransferId id) {
  const Transfer& transfer = transfers_[id];
  BoundTransfers& sent = collectives_->bound(transfer.sender);
  BoundTransfers& received = collectives_->bound(transfer.receiver);
  ++sent.count;
  ++received.count;
  put_in(transfers_, sent.first_sent, &Transfer::next_sent, &Transfer::send_place, id);
  put_in(transfers_, received.first_received, &Transfer::next_received, &Transfer::receive_place,
         id);
}

void Transfers::post_bound(TransferId id, std::uint8_t end) {
  Transfer& transfer = transfers_[id];
  transfer.posted |= end;
  if (end == Transfer::kSender && state_->issue_in_order) {
    transfer.order = state_->next_order++;
    transfer.instant = state_->instant;
  }
  if (transfer.posted != (Transfer::kSender | Transfer::kReceiver)) return;
  transfer.posted = 0;
  ++transfer.times;
  ++count_;
  leave(id);
}

/// One end goes on to other things. An end that waits already does so like any other from now on.
void Transfers::unbind(TransferId id) {
  const Transfer transfer = transfers_[id];
  BoundTransfers& sent = collectives_->bound(transfer.sender);
  BoundTransfers& received = collectives_->bound(transfer.receiver);
  --sent.count;
  --received.count;
  take_out(transfers_, sent.first_sent, &Transfer::next_sent, id);
  take_out(transfers_, received.first_received, &Transfer::next_received, id);
  account(transfer, transfer.times);
  transport_->drop(transfer.kept);
  transfers_[id].bound = false;
  spare_.push_back(id);
  if (transfer.posted == 0) return;
  const bool sending = transfer.posted == Transfer::kSender;
  const Track waiting = sending ? transfer.sender : transfer.receiver;
  post(collectives_->connection(transfer.sender, transfer.receiver, transfer.channel),
       {waiting, sending, transfer.reduces && !sending, collectives_->repeats(waiting),
        transfer.bytes, transfer.order,
        sending ? 1 : transfer.reduced / std::max<std::int64_t>(transfer.bytes, 1),
        transfer.instant, sending ? transfer.send_place : transfer.receive_place},
       0);
}

void Transfers::unbind_all(const BoundTransfers& of) {
  while (of.first_sent != kNone) unbind(of.first_sent);
  while (of.first_received != kNone) unbind(of.first_received);
}

const Route& Transfers::route_of(const Transfer& transfer) {
  const Route* route =
      routes_.find(*state_->network->router, transfer.from, transfer.to, transfer.channel);
  LOCKSTEP_CHECK(route != nullptr);
  return *route;
}

void Transfers::account(const Transfer& transfer, std::int64_t times) {
  const UInt128 total = static_cast<UInt128>(transfer.bytes) * static_cast<UInt128>(times);
  if (transfer.tight != nullptr) {
    if (sent_.size() <= transfer.tight->number) sent_.resize(transfer.tight->number + 1);
    sent_[transfer.tight->number] += total;
    return;
  }
  for (const Hop& hop : route_of(transfer).hops) carried_[hop.link] += total * hop.weight;
}

std::vector<UInt128> Transfers::carried() const {
  std::vector<UInt128> out = carried_;
  if (!sent_.empty()) reused_->routes()->add_up(*state_->network, sent_, out);
  return out;
}

void Transfers::find_tight(Transfer& transfer) const {
  if (reused_ != nullptr && reused_->routes() != nullptr)
    transfer.tight = &reused_->routes()->of({transfer.from, transfer.to, transfer.channel});
}

void Transfers::begin_past() {
  if (!other_transport_) other_transport_ = make_transport(*state_->network, state_->model);
  std::swap(transport_, other_transport_);
}

void Transfers::end_past(EventQueue& past, EventQueue& present) {
  std::swap(transport_, other_transport_);
  std::unordered_map<std::uint32_t, std::uint32_t> known_as;
  for (const Transport::Transit& each : other_transport_->hand_over(present.now())) {
    Transfer& transfer = transfers_[each.message.transfer];
    transfer.kept = transport_->take_over(each, transfer.tight->route);
    known_as.emplace(each.id, transfer.kept);
  }
  while (!past.empty()) {
    past.advance();
    Event event;
    while (past.pop_now(event)) {
      if (event.kind < kEngineEvents) {
        const auto kind = static_cast<TransportEvent>(event.kind);
        if (kind == TransportEvent::flow_ends || kind == TransportEvent::group_ends) continue;
        LOCKSTEP_CHECK(kind == TransportEvent::arrive || kind == TransportEvent::delivered);
        event.id = known_as.at(event.id);
      }
      present.push(event);
    }
  }
}

void Transfers::handle(const Event& event) {
  if (event.kind == static_cast<std::uint32_t>(TransportEvent::left)) {
    tracks_->step_part_done(transfers_[event.id].sender);
    return;
  }
  transport_->handle(event, state_->queue, arrived_);
  for (const TransferId id : arrived_) finish(id);
  arrived_.clear();
}

void Transfers::finish(TransferId id) {
  Transfer& transfer = transfers_[id];  // nothing new begins before this returns
  ++finished_;
  if (held_ != nullptr && transfer.tight != nullptr)
    held_->count_transfer(transfer.tight->route, false);
  if (!is_lane(transfer.sender)) {
    --messages_;
    if (reused_ != nullptr)
      reused_->count_message({transfer.from, transfer.to, transfer.channel}, false);
  }
  if (state_->workload->logs_transfers) {
    log_.push_back(
        {transfer.from, transfer.to, Bytes{transfer.bytes}, transfer.start, state_->now()});
  }
  if (transfer.eager) {
    transfer.arrived = true;
    take_arrived(*transfer.slotted);
    return;
  }
  if (!transfer.bound) spare_.push_back(id);
  if (frontier_.has_member() && transfer.sender == external_track()) {
    frontier_.member().done(transfer.send_place);
  } else {
    tracks_->step_part_done(transfer.sender);
  }
  if (frontier_.has_member() && transfer.receiver == external_track())
    return frontier_.member().done(transfer.receive_place);
  receive_done(transfer.receiver, transfer.to, transfer.reduces, transfer.reduced);
}

/// What a track receives has arrived; it may have to be reduced.
void Transfers::receive_done(Track track, EndpointId at, bool reduces, std::int64_t bytes) {
  if (reduces && state_->network->endpoints[at].reduce_rate) {
    work_->add({track, false, bytes, EventKind::done, track});
  } else {
    tracks_->step_part_done(track);
  }
}

Track Transfers::external_track() const {
  return collectives_->first_track(0, frontier_.member_index());
}

void Transfers::take_from_frontier(std::uint32_t id) {
  FrontierEnds::Report report = frontier_.pop(id);
  if (!report.finished) {
    report.post.track = external_track();
    report.post.instant = state_->instant;
    report.post.order = state_->next_order++;
    post(report.key, report.post, 0);
  } else if (report.post.sending) {
    ++finished_;
    tracks_->step_part_done(report.post.track);
  } else {
    receive_done(report.post.track, tracks_->endpoint_of(report.post.track), report.post.reduces,
                 report.post.bytes * report.post.times);
  }
}

// Connections with slots.

void Transfers::post_slotted(const ConnectionKey& key, const Post& post, int slots) {
  SlottedConnection& connection = connections_.use(key);
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

void Transfers::begin_eager(const ConnectionKey& key, SlottedConnection& connection,
                            const Post& send) {
  const TransferId id = take_room();
  Transfer& transfer = transfers_[id];
  transfer = {
      .sender = send.track,
      .bytes = send.bytes,
      .from = tracks_->endpoint_of(send.track),
      .to = is_lane(send.track) ? collectives_->endpoint_of_party(send.track, key.to) : key.to,
      .channel = key.channel,
      .order = send.order,
      .instant = send.instant,
      .eager = true,
      .connection = key,
      .slotted = &connection};
  find_tight(transfer);
  account(transfer, 1);
  ++count_;
  if (!is_lane(send.track)) ++messages_;
  ++connection.used;
  connection.on_the_way.push(id);
  leave(id);
}

/// Receivers take what has arrived, oldest first; one that reduces keeps the slot until it is done.
void Transfers::take_arrived(SlottedConnection& connection) {
  while (!connection.receives.empty() && !connection.on_the_way.empty() &&
         transfers_[connection.on_the_way[0]].arrived) {
    const TransferId id = connection.on_the_way.pop();
    const Post receive = connection.receives.pop();
    Transfer& transfer = transfers_[id];
    LOCKSTEP_CHECK(transfer.bytes == receive.bytes);
    transfer.receiver = receive.track;
    transfer.forwarded = receive.forwarded;
    const std::optional<Rate>& rate = state_->network->endpoints[transfer.to].reduce_rate;
    if (receive.reduces && rate) {
      work_->add({receive.track, false, transfer.bytes * receive.times, EventKind::taken, id});
    } else {
      state_->queue.push(make_event(EventKind::taken, id, state_->now()));
    }
  }
}

void Transfers::take(TransferId id) {
  const Track receiver = transfers_[id].receiver;
  if (transfers_[id].forwarded) {
    collectives_->holds_slot(receiver, id);
  } else {
    free_slot(id);
  }
  tracks_->step_part_done(receiver);
}

void Transfers::free_slot(TransferId id) {
  const ConnectionKey key = transfers_[id].connection;
  SlottedConnection& connection = *std::exchange(transfers_[id].slotted, nullptr);
  spare_.push_back(id);
  --connection.used;
  if (!connection.sends.empty()) {
    const Post next = connection.sends.pop();
    begin_eager(key, connection, next);
  } else if (connection.used == 0 && connection.receives.empty() && is_of_streams(key)) {
    connections_.erase(key);  // of a tag that may never come again
  }
}

}  // namespace lockstep::engine
