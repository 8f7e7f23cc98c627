#include "topologies/routing/route_segments.hpp"

namespace lockstep {
namespace {

/// Nodes with more places than this (rings and the like) are searched pair by pair instead.
constexpr std::size_t kMostTabled = 128;

}  // namespace

RouteSegments::RouteSegments(const Cluster& cluster, RoutePolicy policy)
    : data_{cluster.shared()},
      ports_{*data_},
      policy_{policy},
      node_{*data_->node.graph, policy},
      plane_{*data_->fabric.plane, policy},
      built_{make_view({})} {
  const FailedLinks failed_links = failed_links_of(cluster, ports_);
  std::map<NodeFailures, std::size_t> known;
  for (const auto& [copy, lost] : failed_links.nodes) add_view(copy, lost, known);
  for (const auto& [plane, failed] : failed_links.planes) {
    failed_planes_.try_emplace(plane, *data_->fabric.plane, policy_, failed);
  }
}

RouteSegments::View RouteSegments::make_view(const NodeFailures& failed_links) const {
  View view;
  if (!failed_links.links.empty())
    view.own = std::make_unique<SearchGraph>(*data_->node.graph, policy_, failed_links.links);
  view.graph = view.own ? view.own.get() : &node_;
  const std::size_t places = data_->gpus.size() + data_->cpus.size();
  if (places <= kMostTabled || data_->planes != 0)
    view.tables.emplace(*data_, view.graph->paths(), policy_, failed_links.closed);
  return view;
}

void RouteSegments::add_view(std::size_t copy, const NodeFailures& failed_links,
                             std::map<NodeFailures, std::size_t>& known) {
  const auto [found, is_new] = known.try_emplace(failed_links, failed_.size() + 1);
  if (is_new) failed_.push_back(make_view(failed_links));
  failed_links_[copy] = found->second;
}

std::size_t RouteSegments::failed_links(std::size_t copy) const {
  const auto found = failed_links_.find(copy);
  return found == failed_links_.end() ? 0 : found->second;
}

const RouteSegments::View& RouteSegments::view(std::size_t copy) const {
  const std::size_t number = failed_links(copy);
  return number == 0 ? built_ : failed_[number - 1];
}

const SearchGraph& RouteSegments::plane_graph(std::size_t plane) const {
  const auto found = failed_planes_.find(plane);
  return found == failed_planes_.end() ? plane_ : found->second;
}

bool RouteSegments::between(std::size_t copy, std::size_t from, std::size_t to, std::uint64_t hash,
                            Route& route) const {
  const View& node = view(copy);
  if (!node.tables) return inside(copy, vertex_of(from), vertex_of(to), hash, route);
  const Leg* leg = node.tables->between(from, to);
  if (leg == nullptr) return false;
  node.graph->append(leg->hops, leg->latency, leg->paths, first_link(copy), hash, route);
  return true;
}

bool RouteSegments::inside(std::size_t copy, VertexId from, VertexId to, std::uint64_t hash,
                           Route& route) const {
  return view(copy).graph->append(from, to, first_link(copy), hash, route);
}

std::optional<FabricPort> RouteSegments::exit(std::size_t copy, std::size_t place, int rail) const {
  const NodeRoutes& node = *view(copy).tables;
  if (node.out(place, rail) == nullptr) return std::nullopt;
  const std::size_t terminal = node.exit(place, rail);
  return FabricPort{ports_.plane(terminal), ports_.leaf(copy, terminal)};
}

std::optional<FabricPort> RouteSegments::entry(std::size_t copy, std::size_t place,
                                               int rail) const {
  const NodeRoutes& node = *view(copy).tables;
  if (node.in(place, rail) == nullptr) return std::nullopt;
  const std::size_t terminal = node.entry(place, rail);
  return FabricPort{ports_.plane(terminal), ports_.leaf(copy, terminal)};
}

bool RouteSegments::leave(std::size_t copy, std::size_t place, int rail, std::uint64_t hash,
                          Route& route) const {
  const View& node = view(copy);
  const Leg* leg = node.tables->out(place, rail);
  if (leg == nullptr) return false;
  node.graph->append(leg->hops, leg->latency, leg->paths, first_link(copy), hash, route);
  route.hops.push_back({ports_.up(copy, node.tables->exit(place, rail)), kWeightUnit});
  route.latency += data_->fabric.host_link.latency;
  return true;
}

bool RouteSegments::arrive(std::size_t copy, std::size_t place, int rail, std::uint64_t hash,
                           Route& route) const {
  const View& node = view(copy);
  const Leg* leg = node.tables->in(place, rail);
  if (leg == nullptr) return false;
  route.hops.push_back({ports_.down(copy, node.tables->entry(place, rail)), kWeightUnit});
  route.latency += data_->fabric.host_link.latency;
  node.graph->append(leg->hops, leg->latency, leg->paths, first_link(copy), hash, route);
  return true;
}

bool RouteSegments::across(std::size_t plane, VertexId from, VertexId to, std::uint64_t hash,
                           Route& route) const {
  if (from == to) return true;
  return plane_graph(plane).append(from, to, ports_.first_switch_link(plane), hash, route);
}

const LinkBundles& RouteSegments::bundles() const {
  std::call_once(bundled_, [this] {
    std::vector<bool> has_terminals(data_->plane_vertices(), false);
    for (const VertexId leaf : data_->fabric.switch_of) has_terminals[leaf] = true;
    bundles_.emplace(*data_->fabric.plane, has_terminals);
  });
  return *bundles_;
}

bool RouteSegments::outline(std::size_t plane, VertexId from, VertexId to, Route& route) const {
  if (from == to) return true;
  const std::uint64_t pair = std::uint64_t{from} << 32U | to;
  const auto use = [&](const Route& known) {
    append_stretch(route, known.hops, known.latency, known.paths, ports_.first_switch_link(plane));
  };
  if (outlines_.use(pair, use)) return true;
  Route whole;
  if (!plane_.append(from, to, 0, 0, whole)) return false;
  std::erase_if(whole.hops,
                [this](const Hop& hop) { return bundles().stands_for(hop.link) != hop.link; });
  outlines_.keep(pair, whole);
  use(whole);
  return true;
}

LinkId RouteSegments::stands_for(LinkId link) const {
  if (data_->planes == 0 || link < data_->first_plane_link()) return link;
  const std::size_t in_plane = (link - data_->first_plane_link()) % data_->plane_links();
  if (in_plane < data_->host_links()) return link;
  const auto own = static_cast<LinkId>(in_plane - data_->host_links());
  return link - own + bundles().stands_for(own);
}

}  // namespace lockstep
