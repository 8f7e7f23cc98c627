#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "sim/program/timeline.hpp"
#include "topologies/graph/cluster.hpp"
#include "topologies/routing/routing.hpp"

namespace lockstep::cli {

/// The links between a rank and whom it exchanges messages with: the peer of a send or receive, the
/// next member of a collective's group.
class RankLinks {
 public:
  explicit RankLinks(const Cluster& cluster);

  /// Number of the list of links in json(); -1: no communication, or one without links.
  [[nodiscard]] std::int64_t route_of(const TrainingStepTimeline& timeline, std::size_t rank,
                                      const Operation& operation);

  /// The lists: [{"peer": 4, "links": ["node0/gpu0 -> ..."], "kinds": ["gpu -> nvswitch"]}].
  [[nodiscard]] std::string json() const;

 private:
  [[nodiscard]] std::string text_of(int from, int to, int peer) const;

  const Cluster& cluster_;
  std::shared_ptr<const Router> router_;
  std::map<std::tuple<int, int, int>, std::int64_t> ids_{};  // from, to, peer
  std::vector<std::string> texts_{};
};

}  // namespace lockstep::cli
