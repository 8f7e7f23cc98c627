#include "topologies/routing/node_routes.hpp"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

namespace lockstep {

NodeRoutes::NodeRoutes(const ClusterData& data, const PathGraph& graph, RoutePolicy policy,
                       ClosedTerminals closed)
    : data_{&data},
      graph_{&graph},
      policy_{policy},
      closed_{std::move(closed)},
      gpus_{data.gpus.size()},
      places_{data.gpus} {
  places_.insert(places_.end(), data.cpus.begin(), data.cpus.end());
  for (const VertexId terminal : data.terminals) {
    rails_ = std::max(rails_, (*data.node.graph)[terminal].rail + 1);
  }
  find_between();
  if (data.planes != 0) find_rails();
}

NodeRoutes::Slot NodeRoutes::to_slot(Route route) const {
  if (policy_ == RoutePolicy::shortest) choose_lowest(*graph_, route);
  return {true, Leg{std::move(route.hops), route.latency, route.paths}};
}

void NodeRoutes::find_between() {
  between_.resize(places_.size() * places_.size());
  Route route;
  for (std::size_t from = 0; from < places_.size(); ++from) {
    for (std::size_t to = 0; to < places_.size(); ++to) {
      const bool there = graph_->find(places_[from], places_[to], route);
      if (there) between_[from * places_.size() + to] = to_slot(route);
    }
  }
}

void NodeRoutes::find_rails() {
  const std::size_t slots = places_.size() * static_cast<std::size_t>(rails_);
  out_.resize(slots);
  in_.resize(slots);
  exit_.resize(slots);
  entry_.resize(slots);
  near_.resize(slots);
  for (std::size_t place = 0; place < places_.size(); ++place) {
    for (int rail = 0; rail < rails_; ++rail) search_routes(place, rail);
    settle_rail(place);
  }
}

/// Which rails are near, and which is the place's own: for a CPU, the first of the nearest.
void NodeRoutes::settle_rail(std::size_t place) {
  const auto distance = [&](int rail) {
    const Slot& slot = in_[at(place, rail)];
    return std::tuple{!slot.there, path_length({slot.leg.hops, {}, 1}), slot.leg.latency};
  };
  int nearest = 0;
  for (int rail = 1; rail < rails_; ++rail) {
    if (distance(rail) < distance(nearest)) nearest = rail;
  }
  for (int rail = 0; rail < rails_; ++rail) {
    near_[at(place, rail)] = distance(rail) == distance(nearest);
  }
  rail_.push_back(is_gpu(place) ? (*data_->node.graph)[places_[place]].rail : nearest);
}

void NodeRoutes::search_routes(std::size_t place, int rail) {
  const VertexId start = places_[place];
  const FabricPath direct = ingress(start, rail);
  if (direct.there) in_[at(place, rail)] = to_slot(direct.route);
  entry_[at(place, rail)] = direct.terminal;

  const std::size_t relay = gpu_towards(place, rail);
  FabricPath way = egress(places_[relay], rail);
  if (way.there) {
    Slot whole = between_[place * places_.size() + relay];
    const Slot rest = to_slot(std::move(way.route));
    whole.leg.hops.insert(whole.leg.hops.end(), rest.leg.hops.begin(), rest.leg.hops.end());
    whole.leg.latency += rest.leg.latency;
    whole.leg.paths *= rest.leg.paths;
    out_[at(place, rail)] = std::move(whole);
  }
  exit_[at(place, rail)] = way.terminal;
}

/// The nearest of the fabric's terminals on that rail, of equally near ones the first.
template <class Find>
NodeRoutes::FabricPath NodeRoutes::nearest(int rail, const std::vector<bool>& closed,
                                           Find&& find) const {
  FabricPath best;
  const auto length = [](const FabricPath& way) {
    return std::tuple{!way.there, path_length(way.route), way.route.latency};
  };
  for (std::size_t t = 0; t < data_->terminals.size(); ++t) {
    const VertexId terminal = data_->terminals[t];
    if ((*data_->node.graph)[terminal].rail != rail) continue;
    if (!closed.empty() && closed[t]) continue;
    FabricPath way;
    way.terminal = t;
    way.there = find(terminal, way.route);
    if (!best.there || length(way) < length(best)) best = std::move(way);
  }
  return best;
}

NodeRoutes::FabricPath NodeRoutes::egress(VertexId from, int rail) const {
  return nearest(rail, closed_.out, [&](VertexId terminal, Route& route) {
    return graph_->find(from, terminal, route);
  });
}

NodeRoutes::FabricPath NodeRoutes::ingress(VertexId to, int rail) const {
  return nearest(rail, closed_.in, [&](VertexId terminal, Route& route) {
    return graph_->find(graph_->arrived_from_network(terminal), to, route);
  });
}

bool NodeRoutes::over_nvlink(const Leg& leg) const {
  return !leg.hops.empty() && std::all_of(leg.hops.begin(), leg.hops.end(), [this](const Hop& hop) {
    return data_->links[hop.link].kind == LinkKind::nvlink;
  });
}

/// The GPU on that rail through which a GPU leaves by NVLink: the one that stands there as the
/// asking one stands on its own rail. The place itself where it needs none.
std::size_t NodeRoutes::gpu_towards(std::size_t place, int rail) const {
  if (!data_->rail_first || !is_gpu(place)) return place;
  const auto on_rail = [this](std::size_t gpu, int wanted) {
    return (*data_->node.graph)[places_[gpu]].rail == wanted;
  };
  const int own = (*data_->node.graph)[places_[place]].rail;
  if (own == rail) return place;
  std::size_t ordinal = 0;
  for (std::size_t gpu = 0; gpu < place; ++gpu) ordinal += on_rail(gpu, own) ? 1U : 0U;
  for (std::size_t gpu = 0; gpu < gpus_; ++gpu) {
    if (!on_rail(gpu, rail) || ordinal-- != 0) continue;
    const Leg* leg = between(place, gpu);
    return leg != nullptr && over_nvlink(*leg) ? gpu : place;
  }
  return place;
}

}  // namespace lockstep
