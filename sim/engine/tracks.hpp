#pragma once

#include <cstdint>

#include "sim/engine/collectives.hpp"
#include "sim/engine/streams.hpp"

namespace lockstep::engine {

/// Lanes and streams alike.
class Tracks {
 public:
  Tracks(Collectives& collectives, Streams& streams)
      : collectives_{&collectives}, streams_{&streams} {}

  [[nodiscard]] EndpointId endpoint_of(Track track) const {
    return is_lane(track) ? collectives_->lane(track).endpoint
                          : streams_->endpoint_of(track - kStream);
  }
  /// Position among all tracks: lanes of calls, then streams, in the order of the workload.
  [[nodiscard]] std::uint64_t order_of(Track track) const {
    return is_lane(track) ? collectives_->order_of(track)
                          : (std::uint64_t{1} << 63U) + (track - kStream);
  }
  /// Of what the track sends now.
  [[nodiscard]] TrafficWeight traffic_weight(Track track) const {
    return is_lane(track) ? collectives_->traffic_weight(track)
                          : streams_->traffic_weight(track - kStream);
  }
  /// A transfer or a piece of local work of the track's step is complete.
  void step_part_done(Track track) const {
    if (is_lane(track)) {
      collectives_->step_part_done(track);
    } else {
      streams_->finish_operation(track - kStream);
    }
  }
  void run(Track track) const {
    if (is_lane(track)) {
      collectives_->run_lane(track);
    } else {
      streams_->run(track - kStream);
    }
  }

 private:
  Collectives* collectives_;
  Streams* streams_;
};

}  // namespace lockstep::engine
