#pragma once

#include <cstdint>
#include <vector>

#include "sim/engine/backlog.hpp"
#include "sim/engine/replay_state.hpp"

namespace lockstep::engine {

class Tracks;

/// Reductions and copies of endpoints in their own memory, one piece after the other. Pieces of one
/// endpoint found in one instant are done in the order of its tracks, whatever the order of
/// finding.
class LocalWork {
 public:
  explicit LocalWork(const Network& network) : backlogs_(network.endpoints.size()) {}
  /// Required before use, and after a copy.
  void join(ReplayState& state, const Tracks& tracks) {
    state_ = &state;
    tracks_ = &tracks;
  }

  /// Several tracks share an endpoint.
  void share_ends() { tracks_share_ends_ = true; }

  struct Piece {
    Track track = 0;
    bool copies = false;
    std::int64_t bytes = 0;
    EventKind announces = EventKind::done;
    std::uint32_t id = 0;     // of the event when it is done
    std::uint64_t order = 0;  // of the track
  };
  void add(const Piece& piece);
  /// At the end of an instant's events.
  void do_all();

 private:
  void begin(const Piece& piece);

  ReplayState* state_ = nullptr;
  const Tracks* tracks_ = nullptr;
  struct Backlogs {
    Backlog reductions;
    Backlog copies;
  };
  std::vector<Backlogs> backlogs_;  // per endpoint
  std::vector<Piece> found_;        // in this instant
  bool tracks_share_ends_ = false;
};

}  // namespace lockstep::engine
