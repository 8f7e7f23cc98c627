#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/network/network.hpp"
#include "sim/schedule/workload.hpp"

/// Traffic on a network, said so plainly that any engine can replay it.
namespace lockstep {

struct Flow {
  EndpointId from = 0;
  EndpointId to = 0;
  Bytes size;
  TimePoint start;
};

struct TrafficCase {
  std::string name;
  Network network;
  std::vector<Flow> flows;
};

/// The same for the engine: a stream for each end of each flow, which waits for the start and then
/// sends or receives. The sender of flow i is stream 2i, its receiver stream 2i+1.
[[nodiscard]] Workload workload_of(const TrafficCase& traffic);

/// Routes written down one by one; each is a single path.
class RouteTable : public Router {
 public:
  void add(EndpointId from, EndpointId to, Route route);
  [[nodiscard]] bool route(EndpointId from, EndpointId to, Route& route) const override;

 private:
  std::map<std::pair<EndpointId, EndpointId>, Route> routes_;
};

/// The two directions of a cable.
struct Cable {
  LinkId up = 0;
  LinkId down = 0;
};

/// Puts a case together link by link and flow by flow.
class CaseBuilder {
 public:
  explicit CaseBuilder(std::string name);

  EndpointId endpoint();
  LinkId link(Rate bandwidth, Duration latency, bool port);
  Cable cable(Rate bandwidth, Duration latency, bool port);
  /// A pair of end points keeps the path of its first flow.
  void flow(const Flow& flow, const std::vector<LinkId>& path);
  [[nodiscard]] TrafficCase build();

 private:
  TrafficCase case_;
  std::shared_ptr<RouteTable> routes_;
};

}  // namespace lockstep
