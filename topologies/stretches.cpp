#include "topologies/stretches.hpp"

namespace lockstep {
namespace {

/// Nodes with more places than this (rings and the like) are searched pair by pair instead.
constexpr std::size_t kMostTabled = 128;

}  // namespace

Stretches::Stretches(const Cluster& cluster, RoutePolicy policy)
    : data_{cluster.shared()},
      ports_{*data_},
      node_{*data_->node.graph, policy},
      plane_{*data_->fabric.plane, policy} {
  const std::size_t places = data_->gpus.size() + data_->cpus.size();
  if (places <= kMostTabled || data_->planes != 0) tables_.emplace(*data_, node_.paths(), policy);
}

bool Stretches::between(std::size_t copy, std::size_t from, std::size_t to, std::uint64_t hash,
                        Route& route) const {
  if (!tables_) return inside(copy, vertex_of(from), vertex_of(to), hash, route);
  const Leg* leg = tables_->between(from, to);
  if (leg == nullptr) return false;
  node_.append(leg->hops, leg->latency, leg->paths, first_link(copy), hash, route);
  return true;
}

bool Stretches::inside(std::size_t copy, VertexId from, VertexId to, std::uint64_t hash,
                       Route& route) const {
  return node_.append(from, to, first_link(copy), hash, route);
}

std::optional<FabricPort> Stretches::exit(std::size_t copy, std::size_t place, int rail) const {
  if (tables_->out(place, rail) == nullptr) return std::nullopt;
  const std::size_t terminal = tables_->exit(place, rail);
  return FabricPort{ports_.plane(terminal), ports_.leaf(copy, terminal)};
}

std::optional<FabricPort> Stretches::entry(std::size_t copy, std::size_t place, int rail) const {
  if (tables_->in(place, rail) == nullptr) return std::nullopt;
  const std::size_t terminal = tables_->entry(place, rail);
  return FabricPort{ports_.plane(terminal), ports_.leaf(copy, terminal)};
}

bool Stretches::leave(std::size_t copy, std::size_t place, int rail, std::uint64_t hash,
                      Route& route) const {
  const Leg* leg = tables_->out(place, rail);
  if (leg == nullptr) return false;
  node_.append(leg->hops, leg->latency, leg->paths, first_link(copy), hash, route);
  route.hops.push_back({ports_.up(copy, tables_->exit(place, rail)), kWeightUnit});
  route.latency += data_->fabric.host_link.latency;
  return true;
}

bool Stretches::arrive(std::size_t copy, std::size_t place, int rail, std::uint64_t hash,
                       Route& route) const {
  const Leg* leg = tables_->in(place, rail);
  if (leg == nullptr) return false;
  route.hops.push_back({ports_.down(copy, tables_->entry(place, rail)), kWeightUnit});
  route.latency += data_->fabric.host_link.latency;
  node_.append(leg->hops, leg->latency, leg->paths, first_link(copy), hash, route);
  return true;
}

bool Stretches::across(std::size_t plane, VertexId from, VertexId to, std::uint64_t hash,
                       Route& route) const {
  if (from == to) return true;
  return plane_.append(from, to, ports_.first_switch_link(plane), hash, route);
}

}  // namespace lockstep
