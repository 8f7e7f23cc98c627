#pragma once

#include <vector>

#include "topologies/graph/cluster_data.hpp"
#include "topologies/routing/path_graph.hpp"
#include "topologies/routing/routing.hpp"

/// Routes inside one node, the same in every copy of it. Internal.
namespace lockstep {

/// A segment of a route: links numbered within the node, distances from the start.
struct Leg {
  std::vector<Hop> hops;
  Duration latency;
  std::int64_t paths = 1;
};

/// Fabric terminals closed for leaving, or entering, the node; per terminal of the node, empty: all
/// are open.
struct ClosedTerminals {
  std::vector<bool> out;
  std::vector<bool> in;

  friend auto operator<=>(const ClosedTerminals&, const ClosedTerminals&) = default;
};

/// Places are the node's GPUs, then its CPUs. Stores a table of all pairs.
class NodeRoutes {
 public:
  /// Both must outlive this object. With the policy `shortest` every leg is a single path.
  NodeRoutes(const ClusterData& data, const PathGraph& graph, RoutePolicy policy,
             ClosedTerminals closed = {});

  /// Between two places; nullptr if there is no route.
  [[nodiscard]] const Leg* between(std::size_t from, std::size_t to) const {
    return find(between_[from * places_.size() + to]);
  }
  /// From a place through its NIC on that rail, via the GPU of that rail if NVLink connects them.
  [[nodiscard]] const Leg* out(std::size_t from, int rail) const {
    return find(out_[at(from, rail)]);
  }
  /// From the NIC on that rail to a place.
  [[nodiscard]] const Leg* in(std::size_t to, int rail) const { return find(in_[at(to, rail)]); }
  /// Index of the fabric terminal through which out() leaves.
  [[nodiscard]] std::size_t exit(std::size_t from, int rail) const { return exit_[at(from, rail)]; }
  [[nodiscard]] std::size_t entry(std::size_t to, int rail) const { return entry_[at(to, rail)]; }

  /// Whether no NIC is nearer to a place than that of this rail.
  [[nodiscard]] bool is_near(std::size_t place, int rail) const { return near_[at(place, rail)]; }
  /// The rail of a GPU; of a CPU that of its nearest NIC.
  [[nodiscard]] int rail_of(std::size_t place) const { return rail_[place]; }
  [[nodiscard]] bool is_gpu(std::size_t place) const { return place < gpus_; }
  [[nodiscard]] std::size_t places() const { return places_.size(); }
  /// Rails are 0 .. rails() - 1.
  [[nodiscard]] int rails() const { return rails_; }

 private:
  struct Slot {
    bool there = false;
    Leg leg;
  };
  /// The best path between a place and the fabric.
  struct FabricPath {
    std::size_t terminal = 0;
    Route route;
    bool there = false;
  };

  [[nodiscard]] std::size_t at(std::size_t place, int rail) const {
    return place * static_cast<std::size_t>(rails_) + static_cast<std::size_t>(rail);
  }
  [[nodiscard]] static const Leg* find(const Slot& slot) {
    return slot.there ? &slot.leg : nullptr;
  }
  void find_between();
  void find_rails();
  void search_routes(std::size_t place, int rail);
  void settle_rail(std::size_t place);
  [[nodiscard]] FabricPath egress(VertexId from, int rail) const;
  [[nodiscard]] FabricPath ingress(VertexId to, int rail) const;
  template <class Find>
  [[nodiscard]] FabricPath nearest(int rail, const std::vector<bool>& closed, Find&& find) const;
  [[nodiscard]] std::size_t gpu_towards(std::size_t place, int rail) const;
  [[nodiscard]] bool over_nvlink(const Leg& leg) const;
  [[nodiscard]] Slot to_slot(Route route) const;

  const ClusterData* data_;
  const PathGraph* graph_;
  RoutePolicy policy_;
  ClosedTerminals closed_;
  std::size_t gpus_ = 0;
  int rails_ = 1;
  std::vector<VertexId> places_;
  std::vector<int> rail_;
  std::vector<bool> near_;
  std::vector<Slot> between_;
  std::vector<Slot> out_;
  std::vector<Slot> in_;
  std::vector<std::size_t> exit_;
  std::vector<std::size_t> entry_;
};

}  // namespace lockstep
