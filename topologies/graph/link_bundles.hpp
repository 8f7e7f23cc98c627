#pragma once

#include <vector>

#include "topologies/graph/graph.hpp"

namespace lockstep {

/// Bundles of links between switches of a plane that always occur together in routes, which connect
/// switches with terminals and split evenly over all best paths. Internal.
/// Switches are colored by refinement until those of one color have equally many cables of each
/// kind to every color, where switches with terminals have distinct colors. Then the number of
/// walks of a given length and latency from a terminal's switch is equal within a color, so links
/// between the same two colors carry equal shares of every split route.
class LinkBundles {
 public:
  /// `has_terminals`: by switch.
  LinkBundles(const Graph& plane, const std::vector<bool>& has_terminals);

  /// The link with the lowest id in the link's bundle.
  [[nodiscard]] LinkId stands_for(LinkId link) const { return stands_for_[link]; }

 private:
  std::vector<LinkId> stands_for_;
};

}  // namespace lockstep
