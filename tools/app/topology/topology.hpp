#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/app/inputs/cluster_request.hpp"
#include "topologies/analysis/analysis.hpp"
#include "topologies/import/import.hpp"

/// What can be said of a cluster without replaying anything on it.
namespace lockstep::app {

struct TopologySummary {
  LoadedCluster loaded;
  Census census;
  std::int64_t failed_links = 0;  // directed
  std::optional<Bisection> bisection;
  Diameter diameter;
};

/// Throws as ClusterRequest::load() does.
[[nodiscard]] TopologySummary summarize_topology(const ClusterRequest& request);

struct RouteRequest {
  ClusterRequest cluster;
  std::int64_t from = 0;  // rank, or a host behind the ranks
  std::int64_t to = 1;
  std::string from_vertex{};  // "node0/gpu0": the rank at it, instead of `from`; empty: none
  std::string to_vertex{};
};

struct RouteResult {
  LoadedCluster loaded;
  EndpointId from = 0;
  EndpointId to = 0;
  Route route;
  std::optional<Bottleneck> bottleneck;
};

/// Throws RequestError for an endpoint that the cluster does not have, Refusal without a route.
[[nodiscard]] RouteResult find_route(const RouteRequest& request);

/// The graph as "dot" or "graphml". Throws RequestError for another form.
[[nodiscard]] std::string export_topology(const ClusterRequest& request, const std::string& form);

struct ImportRequest {
  std::string file;       // NCCL topology XML or the output of `nvidia-smi topo -m`
  std::string device;     // id; empty: as the file specifies
  ImportOptions options;  // `device` of these is filled in
};

/// Reads the file and checks that the result is a cluster. Throws ConfigError, RequestError.
[[nodiscard]] ImportedCluster import_cluster(const ImportRequest& request);

}  // namespace lockstep::app
