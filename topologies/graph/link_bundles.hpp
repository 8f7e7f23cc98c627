#pragma once

#include <vector>

#include "topologies/graph/graph.hpp"

namespace lockstep {

/// The links between the switches of a plane that no route can cross one without the others: routes
/// run between switches with terminals and split evenly over all their best paths. Internal.
///
/// Switches are coloured until those of one colour have equally many cables of each kind to every
/// colour, switches with terminals each having a colour of its own. Then as many walks of a given
/// length and latency lead from any terminal's switch to each of one colour, so that links between
/// the same two colours carry equal shares of every split route.
class LinkBundles {
 public:
  /// `has_terminals` by switch.
  LinkBundles(const Graph& plane, const std::vector<bool>& has_terminals);

  /// The link of lowest id in the link's bundle.
  [[nodiscard]] LinkId stands_for(LinkId link) const { return stands_for_[link]; }

 private:
  std::vector<LinkId> stands_for_;
};

}  // namespace lockstep
