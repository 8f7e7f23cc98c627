#include "sim/engine/local_work.hpp"

#include <algorithm>

#include "sim/engine/tracks.hpp"

namespace lockstep::engine {

void LocalWork::add(const Piece& piece) {
  if (tracks_share_ends_ && state_->by_track) {
    found_.push_back(piece);
    found_.back().order = tracks_->order_of(piece.track);
  } else {
    begin(piece);
  }
}

void LocalWork::begin(const Piece& piece) {
  const EndpointId at = tracks_->endpoint_of(piece.track);
  Backlogs& own = backlogs_[at];
  const Endpoint& endpoint = state_->network->endpoints[at];
  const TimePoint done =
      piece.copies ? own.copies.add(Bytes{piece.bytes}, *endpoint.copy_rate, state_->now())
                   : own.reductions.add(Bytes{piece.bytes}, *endpoint.reduce_rate, state_->now());
  state_->queue.push(make_event(piece.announces, piece.id, done));
}

void LocalWork::do_all() {
  if (found_.empty()) return;
  std::stable_sort(found_.begin(), found_.end(),
                   [](const Piece& a, const Piece& b) { return a.order < b.order; });
  for (const Piece& piece : found_) begin(piece);
  found_.clear();
}

}  // namespace lockstep::engine
