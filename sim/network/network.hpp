#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "sim/base/units.hpp"

/// The cluster as the engine sees it: directed links as a flat array, the end points that send and
/// receive, and somebody who answers for routes. Built by `topologies`, or by hand in tests.
namespace lockstep {

using LinkId = std::uint32_t;
using EndpointId = std::uint32_t;

/// One direction of a cable.
struct Link {
  Rate bandwidth;     // what it really carries: nominal bandwidth times efficiency
  Duration latency;   // paid once by every transfer that crosses it
  bool port = false;  // touches a rank or a NIC: limits also in the alpha-beta model
};

/// Share of a link that a transfer needs per byte of its own, in units of 1/kWeightUnit.
/// A single path has weight kWeightUnit on each of its links; a transfer that is split over k equal
/// paths has kWeightUnit/k on each, and a representative of m transfers m times as much.
/// The unit divides evenly by every k up to 16 and by powers of two up to 4096.
using Weight = std::uint64_t;
inline constexpr Weight kWeightUnit = Weight{4096} * 9 * 5 * 7 * 11 * 13;

struct Hop {
  LinkId link = 0;
  Weight weight = kWeightUnit;
};

/// How a transfer gets from one end point to another.
struct Route {
  std::vector<Hop> hops;   // in order of travel where there is one path
  Duration latency;        // sum over one path
  std::int64_t paths = 1;  // equal paths it is split over

  void clear() {
    hops.clear();
    latency = Duration{};
    paths = 1;
  }
};

/// Answers for routes, on demand: nobody holds a table of all pairs. Thread-safe.
class Router {
 public:
  virtual ~Router() = default;
  /// Fills `route` (cleared first). Returns false where there is no way from `from` to `to`.
  /// from == to gives a route without hops and without latency.
  [[nodiscard]] virtual bool route(EndpointId from, EndpointId to, Route& route) const = 0;

  /// The same for what goes over one channel of a schedule's, where channels have ways of their
  /// own: asked instead of route() where by_channel().
  [[nodiscard]] virtual bool by_channel() const { return false; }
  [[nodiscard]] virtual bool route_of(EndpointId from, EndpointId to, std::uint32_t channel,
                                      Route& route) const {
    (void)channel;
    return this->route(from, to, route);
  }
  /// The same where the router holds it already; else nullptr.
  [[nodiscard]] virtual const Route* held_route(std::uint32_t channel) const {
    (void)channel;
    return nullptr;
  }

  /// The route in few words, where has_outlines(): links that no route can cross one without the
  /// others, all with equal weights, make a bundle, and of each bundle on the way only the link is
  /// named that stands for it. Such links may still have been made to differ in their figures.
  [[nodiscard]] virtual bool has_outlines() const { return false; }
  [[nodiscard]] virtual bool outline(EndpointId from, EndpointId to, Route& route) const {
    return this->route(from, to, route);
  }
  /// The one of the link's bundle; itself where it is in none.
  [[nodiscard]] virtual LinkId stands_for(LinkId link) const { return link; }
};

/// What a message costs at an end point itself, apart from the links.
struct Endpoint {
  Duration message_overhead;        // holds the sender, per message
  std::optional<Rate> reduce_rate;  // bytes reduced per second; none: reductions cost no time
  std::optional<Rate> copy_rate{};  // bytes copied in its own memory per second; none: no time
};

struct Network {
  std::vector<Link> links;
  std::vector<Endpoint> endpoints;
  std::shared_ptr<const Router> router;
  /// Whether it pays to look for links that the very same transfers cross. Shares do not depend on
  /// it.
  bool may_have_twins = true;
};

}  // namespace lockstep
