#pragma once

#include <cstdint>
#include <optional>

#include "sim/network/network.hpp"

namespace lockstep {

/// Length of a route: hops per path, and latency.
struct RouteLength {
  std::int64_t hops = 0;
  Duration latency;
};

/// A router that knows a route's length without listing its links, of which a route split over a
/// large fabric has thousands.
class LengthRouter {
 public:
  virtual ~LengthRouter() = default;
  /// The length of Router::route(); none if there is no route.
  [[nodiscard]] virtual std::optional<RouteLength> length(EndpointId from, EndpointId to) const = 0;
};

}  // namespace lockstep
