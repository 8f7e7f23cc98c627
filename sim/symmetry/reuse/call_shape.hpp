#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "sim/network/route_cache.hpp"
#include "sim/schedule/workload.hpp"
#include "sim/symmetry/reuse/key.hpp"

namespace lockstep {

/// What happens within one call of a schedule: who sends how much to whom in which step, over links
/// of which bandwidths. Calls of equal shapes take equally long where nothing else touches them.
struct CallShape {
  fold::Key key{};              // links and channels by the order in which they come up
  std::vector<LinkId> links{};  // in that order
  bool works = false;           // end points reduce or copy, in some time
};

/// Finds shapes; keeps what it has asked the router.
class CallShapes {
 public:
  /// The network must outlive it.
  explicit CallShapes(const Network& network);

  [[nodiscard]] CallShape of(const CollectiveCall& call);
  /// The links between two end points. Errors: InternalError where there is no route.
  [[nodiscard]] const Route& route(EndpointId from, EndpointId to, std::uint32_t channel);

 private:
  void add_members(const CollectiveCall& call, fold::KeyBuilder& key);
  void add_lane(const CollectiveCall& call, int member, int lane, fold::KeyBuilder& key);
  void add_step(const CollectiveCall& call, int member, fold::KeyBuilder& key);
  void add_way(const Route& route, fold::KeyBuilder& key);
  [[nodiscard]] std::uint64_t number(int channel);

  const Network& network_;
  RouteCache routes_;
  std::vector<std::uint32_t> number_;      // per link, of the call at hand
  std::map<int, std::uint64_t> channels_;  // likewise
  CallShape out_;
  ScheduleStep step_;
};

}  // namespace lockstep
