#pragma once

#include <cstdint>
#include <set>
#include <simgrid/s4u.hpp>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/check.hpp"
#include "sim/network/network.hpp"

namespace lockstep {

/// Makes SimGrid's engine, quiet, with the plain max-min model: no TCP effects, no cross traffic,
/// no factors, and tolerances far below a picosecond. Once per process.
void start_simgrid();

/// CM02 shares a link in inverse proportion to latency. So either links have none and the senders
/// wait for it, or all routes have the same.
enum class SimgridLatency : std::uint8_t { none, on_links };

/// A network as a SimGrid zone. Routes are added one by one, since nobody needs all pairs.
class SimgridPlatform {
 public:
  /// Under `parent`, or as the whole platform where that is null.
  SimgridPlatform(const std::string& name, const Network& network, SimgridLatency latency,
                  simgrid::s4u::NetZone* parent);

  /// Does nothing for a pair that has its route. Throws InternalError where there is none, or
  /// where it is split over several paths.
  void add_route(EndpointId from, EndpointId to);
  /// Nothing can be added afterwards.
  void seal() { zone_->seal(); }
  [[nodiscard]] simgrid::s4u::Host* host(EndpointId id) const { return hosts_[id]; }

 private:
  const Network& network_;
  simgrid::s4u::NetZone* zone_;
  std::vector<simgrid::s4u::Host*> hosts_;
  std::vector<simgrid::s4u::Link*> links_;
  std::set<std::pair<EndpointId, EndpointId>> routed_;
};

}  // namespace lockstep
