#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "sim/base/traffic_weight.hpp"
#include "sim/base/units.hpp"

/// A cluster as the engine sees it: directed links in a flat array, endpoints, and a router. Built
/// by `topologies`, or by hand in tests.
namespace lockstep {

using LinkId = std::uint32_t;
using EndpointId = std::uint32_t;

/// One direction of a cable.
struct Link {
  Rate bandwidth;     // usable: nominal bandwidth times efficiency
  Duration latency;   // paid once per transfer that crosses the link
  bool port = false;  // touches a rank or a NIC: also a limit in the alpha-beta model
};

/// Bytes on a link per byte of a transfer, in units of 1/kWeightUnit: kWeightUnit for a single
/// path, kWeightUnit/k for a transfer split over k equal paths, and m times that for a
/// representative of m transfers. Divides evenly by every k up to 16 and by powers of two up to
/// 4096.
using Weight = std::uint64_t;
inline constexpr Weight kWeightUnit = Weight{4096} * 9 * 5 * 7 * 11 * 13;

struct Hop {
  LinkId link = 0;
  Weight weight = kWeightUnit;
};

/// The route of transfers between two endpoints.
struct Route {
  std::vector<Hop> hops;   // in order of travel, if there is one path
  Duration latency;        // of one path
  std::int64_t paths = 1;  // number of equal-cost paths it is split over

  void clear() {
    hops.clear();
    latency = Duration{};
    paths = 1;
  }
};

/// Computes routes on demand; no table of all pairs exists. Thread-safe.
class Router {
 public:
  virtual ~Router() = default;
  /// Fills `route` (cleared first). Returns false if there is no route. from == to gives a route
  /// without hops and latency.
  [[nodiscard]] virtual bool route(EndpointId from, EndpointId to, Route& route) const = 0;

  /// The same for a schedule's channel, if channels have routes of their own; used instead of
  /// route() if by_channel().
  [[nodiscard]] virtual bool by_channel() const { return false; }
  [[nodiscard]] virtual bool route_of(EndpointId from, EndpointId to, std::uint32_t channel,
                                      Route& route) const {
    (void)channel;
    return this->route(from, to, route);
  }
  /// A stored route; nullptr if it is not stored.
  [[nodiscard]] virtual const Route* held_route(std::uint32_t channel) const {
    (void)channel;
    return nullptr;
  }

  /// The route in compressed form, if has_outlines(): links that always occur together in routes,
  /// with equal weights, form a bundle, represented by one link. Their bandwidths may still differ.
  [[nodiscard]] virtual bool has_outlines() const { return false; }
  [[nodiscard]] virtual bool outline(EndpointId from, EndpointId to, Route& route) const {
    return this->route(from, to, route);
  }
  /// The representative of the link's bundle; the link itself if it is in none.
  [[nodiscard]] virtual LinkId stands_for(LinkId link) const { return link; }
};

/// Costs of a message at an endpoint, in addition to the links.
struct Endpoint {
  Duration message_overhead;        // occupies the sender, per message
  std::optional<Rate> reduce_rate;  // bytes reduced per second; none: reductions take no time
  std::optional<Rate>
      copy_rate{};  // bytes copied in its own memory per second; none: copies take no time
};

struct Network {
  std::vector<Link> links;
  std::vector<Endpoint> endpoints;
  std::shared_ptr<const Router> router;
  /// Whether searching for links crossed by exactly the same transfers is worthwhile. Does not
  /// affect rates.
  bool may_have_twins = true;
};

}  // namespace lockstep
