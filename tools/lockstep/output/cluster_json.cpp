#include "tools/lockstep/output/cluster_json.hpp"

namespace lockstep::cli {

Json cluster_json(const ClusterRequest& request, const LoadedCluster& loaded) {
  Json out{{"file", loaded.file.empty() ? request.path() : loaded.file},
           {"name", loaded.name},
           {"device", loaded.device.id},
           {"nodes", loaded.cluster.nodes()},
           {"ranks", loaded.cluster.ranks()}};
  if (!request.overrides.empty()) out["set"] = request.overrides;
  return out;
}

}  // namespace lockstep::cli
