#pragma once

#include <memory>
#include <optional>

#include "sim/config/reader.hpp"
#include "topologies/builders/build_cluster.hpp"
#include "topologies/graph/cluster.hpp"

/// The parts of a cluster file.
namespace lockstep {

struct NodeBlueprint;

/// The figures of a cable: bandwidth, latency, efficiency (1 where it is absent), and a source,
/// which is only for people.
[[nodiscard]] LinkFigures read_link(ObjectReader& in);

/// `{"builder": name, parameter: value, ...}` with the parameters of that builder's table. `noun`
/// says what is wanted where there is no such builder; with `fabrics_only` only those are accepted.
[[nodiscard]] BuilderCall read_builder_call(ObjectReader& in, std::string_view noun,
                                            bool fabrics_only);

/// `{"vertices": [...], "cables": [...]}`: a cluster written out. Notes what is wrong; empty then.
[[nodiscard]] std::optional<Cluster> read_graph(ObjectReader& in);

/// The same for one node, which may then be repeated: all vertices are in it, its NICs are what a
/// fabric is cabled to, and the rails that are not specified are settled. nullptr where that has
/// been noted as wrong.
[[nodiscard]] std::unique_ptr<NodeBlueprint> read_node(ObjectReader& in);

}  // namespace lockstep
