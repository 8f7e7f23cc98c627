#pragma once

#include <string>
#include <vector>

#include "tools/app/inputs/cluster_request.hpp"
#include "tools/lockstep/output/app.hpp"

namespace lockstep::cli {

/// A line for each change of links and one for rerouted ranks; shown with every result on a
/// modified cluster.
[[nodiscard]] std::vector<std::string> lines_of(const LinkEffects& effects, const Cluster& cluster);
[[nodiscard]] std::vector<std::string> lines_of(const LoadedCluster& loaded);

}  // namespace lockstep::cli
