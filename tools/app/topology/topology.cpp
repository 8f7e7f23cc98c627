#include "tools/app/topology/topology.hpp"

#include <fmt/format.h>

#include <sstream>

#include "sim/config/did_you_mean.hpp"
#include "sim/config/json/config_error.hpp"
#include "strategies/interop/text/read_file.hpp"
#include "tools/app/errors.hpp"
#include "topologies/analysis/export.hpp"
#include "topologies/files/cluster_file.hpp"
#include "topologies/graph/nodes.hpp"

namespace lockstep::app {

namespace {

constexpr std::size_t kMostSearched = 1000;  // names, for one that is near

EndpointId endpoint_of(const std::string& field, std::int64_t given, const Cluster& cluster) {
  if (given >= 0 && given < cluster.endpoints()) return static_cast<EndpointId>(given);
  std::string text = fmt::format("expected a rank from 0 to {}", cluster.ranks() - 1);
  if (cluster.auxiliary_ranks() > 0)
    text += fmt::format(" (or a CPU socket or further host, {} to {})", cluster.ranks(),
                        cluster.endpoints() - 1);
  throw RequestError(field, fmt::format("{}, got {}", text, given));
}

EndpointId endpoint_at(const std::string& field, const std::string& vertex,
                       const Cluster& cluster) {
  std::vector<std::string> names;
  for (int each = 0; each < cluster.endpoints(); ++each) {
    names.push_back(cluster.vertex_name(cluster.vertex_of(static_cast<EndpointId>(each))));
    if (names.back() == vertex) return static_cast<EndpointId>(each);
  }
  if (names.size() > kMostSearched) names.resize(kMostSearched);
  const auto meant = did_you_mean(vertex, {names.begin(), names.end()});
  throw RequestError(
      field, fmt::format("no rank is at {}; {}", in_quotes(vertex),
                         meant ? fmt::format("did you mean {}?", in_quotes(*meant))
                               : fmt::format("they are at {} to {}", names.front(),
                                             cluster.vertex_name(cluster.vertex_of(
                                                 static_cast<EndpointId>(cluster.ranks() - 1))))));
}

}  // namespace

TopologySummary summarize_topology(const ClusterRequest& request) {
  const RoutePolicy policy = request.policy();
  TopologySummary out{request.load(), {}, 0, {}, {}};
  const Cluster& cluster = out.loaded.cluster;
  out.census = take_census(cluster);
  for (const LinkState& state : cluster.overlay().all()) out.failed_links += state.failed ? 1 : 0;
  out.bisection = bisection(cluster);
  out.diameter = diameter(cluster, *make_router(cluster, policy, request.seed));
  return out;
}

RouteResult find_route(const RouteRequest& request) {
  const RoutePolicy policy = request.cluster.policy();
  RouteResult out{request.cluster.load(), 0, 0, {}, {}};
  const Cluster& cluster = out.loaded.cluster;
  out.from = request.from_vertex.empty() ? endpoint_of("from", request.from, cluster)
                                         : endpoint_at("from", request.from_vertex, cluster);
  out.to = request.to_vertex.empty() ? endpoint_of("to", request.to, cluster)
                                     : endpoint_at("to", request.to_vertex, cluster);
  if (!make_router(cluster, policy, request.cluster.seed)->route(out.from, out.to, out.route))
    throw Refusal(fmt::format("no route from {} to {}", out.from, out.to));
  out.bottleneck = bottleneck(cluster, out.route);
  return out;
}

std::string export_topology(const ClusterRequest& request, const std::string& form) {
  if (form != "dot" && form != "graphml")
    throw RequestError("format", fmt::format("expected dot or graphml, got \"{}\"", form));
  const LoadedCluster loaded = request.load();
  const std::string gpu_links =
      loaded.device.peer_links ? loaded.device.peer_links->kind : "nvlink";
  std::ostringstream text;
  if (form == "dot") {
    write_dot(loaded.cluster, text, gpu_links);
  } else {
    write_graphml(loaded.cluster, text, gpu_links);
  }
  return text.str();
}

ImportedCluster import_cluster(const ImportRequest& request) {
  constexpr std::size_t kLargest = std::size_t{8} << 20U;  // bytes
  ImportOptions options = request.options;
  if (!request.device.empty()) options.device = find_device("device", request.device);
  const std::string text =
      read_file(request.file, "an NCCL topology or the output of `nvidia-smi topo -m`", kLargest);
  ImportedCluster out = import_topology(text, request.file, options);
  (void)read_cluster(parse_json(out.json, "the imported cluster"));  // it must be one
  return out;
}

}  // namespace lockstep::app
