#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sim/network/network.hpp"
#include "strategies/collectives/bounds/partition.hpp"

namespace lockstep {

/// The routes between all of some end points: how long each takes, and what each end point can send
/// and receive through the links that carry all of a route.
class EndPointRoutes {
 public:
  /// `ports_only`: of links, only ports limit what they carry.
  EndPointRoutes(const Network& network, const std::vector<EndpointId>& end_points,
                 bool ports_only = false);

  /// Every end point a group of its own, the first `members` with data; none where two of them
  /// share a vertex.
  [[nodiscard]] std::optional<Partition> ports(std::size_t members) const;
  /// The longest, over pairs of members that have something to say to each other, of the shortest
  /// chains of messages between them. Pairs without a way do not count.
  [[nodiscard]] Duration farthest(const CollectiveDemand& demand) const;

 private:
  void add(std::size_t i, std::size_t j, EndpointId from, EndpointId to);
  void add_cut(std::vector<LinkId>& links, bool last) const;
  [[nodiscard]] std::optional<Rate> total(const std::vector<LinkId>& links) const;
  void relax();

  const Network& network_;
  std::size_t size_;
  bool ports_only_;
  std::vector<std::int64_t> latency_;  // of a chain, ps, row by row
  std::vector<std::vector<LinkId>> leaving_;
  std::vector<std::vector<LinkId>> entering_;
  bool unlimited_ = false;
  Route route_;
};

/// The same where end points are many: a few pairs are tried, and a chain is no shorter than the
/// pair's own route or two messages over one link each.
[[nodiscard]] Duration farthest_probe(const Network& network, std::span<const EndpointId> members,
                                      const CollectiveDemand& demand);

}  // namespace lockstep
