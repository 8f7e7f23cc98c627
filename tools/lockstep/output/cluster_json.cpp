#include "tools/lockstep/output/cluster_json.hpp"

namespace lockstep::cli {

Json cluster_json(const ClusterRequest& request, const LoadedCluster& loaded) {
  return {{"file", request.path()},
          {"name", loaded.name},
          {"device", loaded.device.id},
          {"nodes", loaded.cluster.nodes()},
          {"ranks", loaded.cluster.ranks()}};
}

}  // namespace lockstep::cli
