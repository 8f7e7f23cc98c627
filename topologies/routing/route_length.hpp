#pragma once

#include <cstdint>
#include <optional>

#include "sim/network/network.hpp"

namespace lockstep {

/// How long a route is: hops of each of its paths, and its latency.
struct RouteLength {
  std::int64_t hops = 0;
  Duration latency;
};

/// A router that knows how long a route is without listing its links, of which one that is split
/// over a large fabric has thousands.
class LengthRouter {
 public:
  virtual ~LengthRouter() = default;
  /// Of the route that Router::route() fills in; none if there is none.
  [[nodiscard]] virtual std::optional<RouteLength> length(EndpointId from, EndpointId to) const = 0;
};

}  // namespace lockstep
