#pragma once

#include "topologies/graph/blueprint.hpp"

namespace lockstep {

/// One tree of switches over `terminals` hosts, up to three levels. Parameters: link (host to
/// leaf), uplink, radix, hosts_per_leaf, levels, leaves_per_pod, oversubscription,
/// core_oversubscription.
///
/// A leaf has hosts_per_leaf ports down and, at oversubscription a:b, hosts_per_leaf * b / a up.
/// Two levels: every leaf is connected to as few spines as ports allow, with several cables to each
/// if there are few leaves. Three levels: equal pods of leaves and spines (one cable from each leaf
/// to each spine), with spine i of every pod connected to the i-th group of core switches. Throws
/// BuildError if ports do not suffice.
[[nodiscard]] FabricBlueprint fat_tree_plane(const Parameters& parameters, int terminals,
                                             int default_radix);

/// Its parameters.
[[nodiscard]] std::vector<Parameter> fat_tree_parameters();

}  // namespace lockstep
