#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sim/network/network.hpp"
#include "strategies/collectives/bounds/partition.hpp"

namespace lockstep {

/// Routes between all pairs of some endpoints: their latency, and the bandwidth of the links that
/// carry a whole route at each endpoint.
class EndPointRoutes {
 public:
  /// `ports_only`: only ports limit bandwidth.
  EndPointRoutes(const Network& network, const std::vector<EndpointId>& end_points,
                 bool ports_only = false);

  /// The partition into single endpoints, the first `members` with data; none if two endpoints
  /// share a vertex.
  [[nodiscard]] std::optional<Partition> ports(std::size_t members) const;
  /// The maximum, over pairs of members that must exchange data, of the minimum latency of a chain
  /// of messages. Unconnected pairs are ignored.
  [[nodiscard]] Duration farthest(const CollectiveDemand& demand) const;

 private:
  void add(std::size_t i, std::size_t j, EndpointId from, EndpointId to);
  void add_cut(std::vector<LinkId>& links, bool last) const;
  [[nodiscard]] std::optional<Rate> total(const std::vector<LinkId>& links) const;
  void relax();

  const Network& network_;
  std::size_t size_;
  bool ports_only_;
  std::vector<std::int64_t> latency_;  // minimum over chains, ps, row-major
  std::vector<std::vector<LinkId>> leaving_;
  std::vector<std::vector<LinkId>> entering_;
  bool unlimited_ = false;
  Route route_;
};

/// The same for many endpoints: a lower bound from a few pairs, where a chain takes at least the
/// pair's own route or two messages over one link each.
[[nodiscard]] Duration farthest_probe(const Network& network, std::span<const EndpointId> members,
                                      const CollectiveDemand& demand);

}  // namespace lockstep
