#pragma once

#include "tools/app/inputs/cluster_request.hpp"
#include "tools/app/json.hpp"
#include "tools/lockstep/output/app.hpp"

namespace lockstep::cli {

/// The cluster of a result: file, name, device id, nodes and ranks.
[[nodiscard]] Json cluster_json(const ClusterRequest& request, const LoadedCluster& loaded);

}  // namespace lockstep::cli
