#pragma once

#include <string>
#include <vector>

#include "sim/engine/collectives.hpp"
#include "sim/engine/streams.hpp"
#include "sim/engine/tracks.hpp"
#include "sim/engine/transfers.hpp"

namespace lockstep::engine {

/// What never completes, and what it waits for, in words. Unfinished work is never a silent
/// success.
class DeadlockReport {
 public:
  DeadlockReport(const Workload& workload, const Tracks& tracks, const Transfers& transfers,
                 const Collectives& collectives, const Streams& streams)
      : workload_{workload},
        tracks_{tracks},
        transfers_{transfers},
        collectives_{collectives},
        streams_{streams} {}

  /// By endpoint. Once.
  [[nodiscard]] std::vector<Unfinished> write();

 private:
  void add_connection(const ConnectionKey& key, const SlottedConnection& connection);
  void add_calls();
  void add_streams();
  [[nodiscard]] std::string describe(const Lane& lane) const;
  [[nodiscard]] std::string describe(Track track) const;
  [[nodiscard]] std::string describe_post(const ConnectionKey& key, const Post& post) const;

  const Workload& workload_;
  const Tracks& tracks_;
  const Transfers& transfers_;
  const Collectives& collectives_;
  const Streams& streams_;
  std::vector<Unfinished> out_;
};

}  // namespace lockstep::engine
