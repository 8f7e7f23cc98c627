#pragma once

#include "sim/config/json.hpp"

namespace lockstep {

/// Writes the rows of topology_builders() into configs/schema/cluster.schema.json: a definition per
/// builder, and its name wherever a cluster may have a topology or fabric of its kind. Other parts
/// are left as they are.
void write_cluster_schema(JsonValue& schema);

}  // namespace lockstep
