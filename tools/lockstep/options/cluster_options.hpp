#pragma once

#include "tools/app/inputs/cluster_request.hpp"
#include "tools/app/inputs/network_request.hpp"
#include "tools/lockstep/output/app.hpp"
#include "tools/lockstep/parser/command_parser.hpp"

namespace lockstep::cli {

/// --cluster, --nodes, --ranks, --routes, --seed, --set-link and --fail, the same on every command.
/// --cluster, with `positional` also the first argument, is required unless the request names a
/// cluster, which is then the default. The request must outlive the command.
void add_cluster(const Command& command, app::ClusterRequest& request, bool positional = false);

/// --network and --protocol, the same on every command.
void add_network(const Command& command, app::NetworkRequest& request);

}  // namespace lockstep::cli
