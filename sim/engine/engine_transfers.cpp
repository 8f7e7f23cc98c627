#include "sim/engine/engine.hpp"

#include <algorithm>
#include <tuple>

#include "sim/base/check.hpp"

namespace lockstep {

// Transfers: both ends meet, the network carries, the receiver reduces.

namespace {

/// Lists of transfers by `place`, each linked through its member `next`.
template <typename Transfers, typename Link, typename Place>
void put_in(Transfers& transfers, TransferId& head, Link next, Place place, TransferId id) {
  TransferId* at = &head;
  while (*at != UINT32_MAX && transfers[*at].*place < transfers[id].*place)
    at = &(transfers[*at].*next);
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

void Engine::post(const ConnectionKey& key, const Post& post, int slots) {
  if (slots > 0) return post_slotted(key, post, slots);
  if (external_ != nullptr && external_->carries(key.channel))
    return external_->take(key.channel, post);
  const std::optional<Post> met = matcher_.meet(key, post);
  if (!met) return;
  if (post.sending) {
    begin_transfer(key, post, *met);
  } else {
    begin_transfer(key, *met, post);
  }
}

void Engine::begin_transfer(const ConnectionKey& key, const Post& send, const Post& receive) {
  LOCKSTEP_CHECK(send.bytes == receive.bytes);
  const TransferId id = take_transfer();
  Transfer& transfer = transfers_[id];
  transfer = {.sender = send.track,
              .receiver = receive.track,
              .bytes = send.bytes,
              .reduced = receive.bytes * receive.times,
              .from = endpoint_of(send.track),
              .to = endpoint_of(receive.track),
              .channel = key.channel,
              .send_place = send.place,
              .receive_place = receive.place,
              .order = send.order,
              .instant = send.instant,
              .reduces = receive.reduces,
              .bound = send.repeats && receive.repeats};
  if (transfer.bound) {
    bind(id);
  } else {
    account(transfer, 1);
  }
  ++transfer_count_;
  if (!is_lane(send.track)) ++on_links_;
  if (external_member_ != nullptr) {
    if (send.track == external_track()) external_member_->begun(send.place);
    if (receive.track == external_track()) external_member_->begun(receive.place);
  }
  if (issue_in_order_) {
    matched_.push_back(id);
  } else {
    start(id);
  }
}

TransferId Engine::take_transfer() {
  if (spare_transfers_.empty()) {
    transfers_.emplace_back();
    return static_cast<TransferId>(transfers_.size() - 1);
  }
  const TransferId id = spare_transfers_.back();
  spare_transfers_.pop_back();
  return id;
}

/// Hands a transfer that may begin to the network.
void Engine::start(TransferId id) {
  Transfer& transfer = transfers_[id];
  const TimePoint at = issue_time(transfer.from);
  transfer.start = at;
  if (transfer.times > 1) {
    transport_->start_again(transfer.kept, at, queue_);
    return;
  }
  const Route* route =
      routes_.find(*network_->router, transfer.from, transfer.to, transfer.channel);
  LOCKSTEP_CHECK(route != nullptr);
  transfer.kept = transport_->start({.transfer = id,
                                     .size = Bytes{transfer.bytes},
                                     .at = at,
                                     .weight = traffic_weight(transfer.sender),
                                     .keep = transfer.bound,
                                     .eager = transfer.eager},
                                    *route, queue_);
}

/// Of what the track sends now. Streams wait for their sends.
TrafficWeight Engine::traffic_weight(std::uint32_t track) const {
  if (is_lane(track)) return workload_->calls[lanes_[track].call].traffic_weight;
  const std::uint32_t stream = track - kStream;
  return workload_->streams[stream].all()[streams_[stream].index].traffic_weight;
}

void Engine::start_matched() {
  if (matched_.empty()) return;
  std::sort(matched_.begin(), matched_.end(), [this](TransferId a, TransferId b) {
    return issued_before(transfers_[a], transfers_[b]);
  });
  for (const TransferId id : matched_) start(id);
  matched_.clear();
}

bool Engine::issued_before(const Transfer& a, const Transfer& b) const {
  if (!by_track_) return a.order < b.order;
  return std::tuple{a.instant, order_of(a.sender), a.order} <
         std::tuple{b.instant, order_of(b.sender), b.order};
}

/// Where several tracks share an end point, the instant's pieces are put in order first.
void Engine::add_work(const Piece& piece) {
  if (tracks_share_ends_ && by_track_) {
    work_.push_back(piece);
    work_.back().order = order_of(piece.track);
  } else {
    do_work(piece);
  }
}

void Engine::do_work(const Piece& piece) {
  const EndpointId at = endpoint_of(piece.track);
  PortState& port = ports_[at];
  const Endpoint& endpoint = network_->endpoints[at];
  const TimePoint done =
      piece.copies ? port.copies.add(Bytes{piece.bytes}, *endpoint.copy_rate, queue_.now())
                   : port.reductions.add(Bytes{piece.bytes}, *endpoint.reduce_rate, queue_.now());
  queue_.push(make_event(piece.announces, piece.id, done));
}

void Engine::do_all_work() {
  if (work_.empty()) return;
  std::stable_sort(work_.begin(), work_.end(),
                   [](const Piece& a, const Piece& b) { return a.order < b.order; });
  for (const Piece& piece : work_) do_work(piece);
  work_.clear();
}

/// When the sender's software lets go of its next message.
TimePoint Engine::issue_time(EndpointId from) {
  if (!issue_in_order_) return queue_.now();  // no software takes time
  const Duration overhead = network_->endpoints[from].message_overhead;
  if (overhead == Duration{}) return queue_.now();
  TimePoint& free = ports_[from].send_free;
  free = std::max(queue_.now(), free) + overhead;
  return free;
}

/// Puts a transfer into the lists of both its ends, which are in the order of their steps.
void Engine::bind(TransferId id) {
  const Transfer& transfer = transfers_[id];
  for (const std::uint32_t end : {transfer.sender, transfer.receiver}) ++lanes_[end].bound;
  put_in(transfers_, lanes_[transfer.sender].first_sent, &Transfer::next_sent,
         &Transfer::send_place, id);
  put_in(transfers_, lanes_[transfer.receiver].first_received, &Transfer::next_received,
         &Transfer::receive_place, id);
}

void Engine::post_bound(TransferId id, std::uint8_t end) {
  Transfer& transfer = transfers_[id];
  transfer.posted |= end;
  if (end == Transfer::kSender && issue_in_order_) {
    transfer.order = next_order_++;
    transfer.instant = instant_;
  }
  if (transfer.posted != (Transfer::kSender | Transfer::kReceiver)) return;
  transfer.posted = 0;
  ++transfer.times;
  ++transfer_count_;
  if (issue_in_order_) {
    matched_.push_back(id);
  } else {
    start(id);
  }
}

/// One end goes on to other things. An end that waits already does so like any other from now on.
void Engine::unbind(TransferId id) {
  const Transfer transfer = transfers_[id];
  for (const std::uint32_t end : {transfer.sender, transfer.receiver}) --lanes_[end].bound;
  take_out(transfers_, lanes_[transfer.sender].first_sent, &Transfer::next_sent, id);
  take_out(transfers_, lanes_[transfer.receiver].first_received, &Transfer::next_received, id);
  account(transfer, transfer.times);
  transport_->drop(transfer.kept);
  transfers_[id].bound = false;
  spare_transfers_.push_back(id);
  if (transfer.posted == 0) return;
  const bool sending = transfer.posted == Transfer::kSender;
  const Lane& sender = lanes_[transfer.sender];
  const Lane& receiver = lanes_[transfer.receiver];
  const std::uint32_t party = calls_[sender.call].first_party;
  const Lane& waiting = sending ? sender : receiver;
  post({party + sender.member, party + receiver.member, transfer.channel},
       {sending ? transfer.sender : transfer.receiver, sending, transfer.reduces && !sending,
        waiting.repeats_left > 0, transfer.bytes, transfer.order,
        sending ? 1 : transfer.reduced / std::max<std::int64_t>(transfer.bytes, 1),
        transfer.instant, sending ? transfer.send_place : transfer.receive_place},
       0);
}

void Engine::unbind_all(Lane& lane) {
  while (lane.first_sent != kNone) unbind(lane.first_sent);
  while (lane.first_received != kNone) unbind(lane.first_received);
}

void Engine::account(const Transfer& transfer, std::int64_t times) {
  const Route* route =
      routes_.find(*network_->router, transfer.from, transfer.to, transfer.channel);
  LOCKSTEP_CHECK(route != nullptr);
  const UInt128 total = static_cast<UInt128>(transfer.bytes) * static_cast<UInt128>(times);
  for (const Hop& hop : route->hops) carried_[hop.link] += total * hop.weight;
}

void Engine::finish_transfer(TransferId id) {
  Transfer& transfer = transfers_[id];  // nothing new begins before this returns
  ++finished_transfers_;
  if (!is_lane(transfer.sender)) {
    --on_links_;
    count_message({transfer.from, transfer.to, transfer.channel}, false);
  }
  if (workload_->logs_transfers) {
    log_.push_back(
        {transfer.from, transfer.to, Bytes{transfer.bytes}, transfer.start, queue_.now()});
  }
  if (transfer.eager) {
    transfer.arrived = true;
    take_arrived(connections_.at(transfer.connection));
    return;
  }
  if (!transfer.bound) spare_transfers_.push_back(id);
  const bool from_external = external_member_ != nullptr && transfer.sender == external_track();
  if (from_external) {
    external_member_->done(transfer.send_place);
  } else {
    transfer_done(transfer.sender);
  }
  if (external_member_ != nullptr && transfer.receiver == external_track()) {
    return external_member_->done(transfer.receive_place);
  }
  receive_done(transfer.receiver, transfer.to, transfer.reduces, transfer.reduced);
}

/// What a track receives has arrived; it may have to be reduced.
void Engine::receive_done(std::uint32_t track, EndpointId at, bool reduces, std::int64_t bytes) {
  if (reduces && network_->endpoints[at].reduce_rate) {
    add_work({track, false, bytes, Kind::done, track});
  } else {
    transfer_done(track);
  }
}

void Engine::post_at(TimePoint at, std::uint32_t member, std::uint32_t channel, const Post& post) {
  const std::uint32_t party = calls_.front().first_party;
  const ConnectionKey key =
      post.sending ? ConnectionKey{party + external_member_index_, party + member, channel}
                   : ConnectionKey{party + member, party + external_member_index_, channel};
  FromExternal what{post, key, false};
  what.post.track = external_track();
  push_from_external(at, what);
}

void Engine::finish_at(TimePoint at, const Post& post) {
  push_from_external(at, {post, {}, true});
}

void Engine::push_from_external(TimePoint at, const FromExternal& what) {
  std::uint32_t id = 0;
  if (spare_from_external_.empty()) {
    id = static_cast<std::uint32_t>(from_external_.size());
    from_external_.push_back(what);
  } else {
    id = spare_from_external_.back();
    spare_from_external_.pop_back();
    from_external_[id] = what;
  }
  queue_.push(make_event(Kind::external, id, at));
}

void Engine::take_from_external(std::uint32_t id) {
  FromExternal what = from_external_[id];
  spare_from_external_.push_back(id);
  if (!what.finished) {
    what.post.instant = instant_;
    what.post.order = next_order_++;
    post(what.key, what.post, 0);
  } else if (what.post.sending) {
    ++finished_transfers_;
    transfer_done(what.post.track);
  } else {
    receive_done(what.post.track, endpoint_of(what.post.track), what.post.reduces,
                 what.post.bytes * what.post.times);
  }
}

void Engine::transfer_done(std::uint32_t track) {
  if (!is_lane(track)) {
    finish_operation(track - kStream);
    return;
  }
  Lane& lane = lanes_[track];
  if (--lane.outstanding > 0) return;
  if ((lane.to_reduce > 0 || lane.to_copy > 0) && begin_local_work(track)) return;
  end_step(lane);
  ready_.push_back(track);
}

void Engine::run_ready() {
  // NOLINTNEXTLINE(modernize-loop-convert): grows while it is run
  for (std::size_t i = 0; i < ready_.size(); ++i) {
    const std::uint32_t track = ready_[i];
    if (is_lane(track)) {
      run_lane(track);
    } else {
      run_stream(track - kStream);
    }
  }
  ready_.clear();
}

}  // namespace lockstep
