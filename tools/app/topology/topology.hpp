#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/app/inputs/cluster_request.hpp"
#include "topologies/analysis/analysis.hpp"
#include "topologies/import/import.hpp"

/// Properties of a cluster that need no replay.
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
  std::int64_t from = 0;  // rank; hosts follow the ranks
  std::int64_t to = 1;
  std::string from_vertex{};  // "node0/gpu0": overrides `from`; empty: none
  std::string to_vertex{};
};

struct RouteResult {
  LoadedCluster loaded;
  EndpointId from = 0;
  EndpointId to = 0;
  Route route;
  std::optional<Bottleneck> bottleneck;
};

/// Throws RequestError for a missing endpoint, Refusal without a route.
[[nodiscard]] RouteResult find_route(const RouteRequest& request);

/// The graph as "dot" or "graphml". Throws RequestError for another format.
[[nodiscard]] std::string export_topology(const ClusterRequest& request, const std::string& form);

struct ImportRequest {
  std::string file;       // NCCL topology XML or the output of `nvidia-smi topo -m`
  std::string device;     // id; empty: from the file
  ImportOptions options;  // except `device`
};

/// Reads the file and validates the resulting cluster. Throws ConfigError, RequestError.
[[nodiscard]] ImportedCluster import_cluster(const ImportRequest& request);

}  // namespace lockstep::app
