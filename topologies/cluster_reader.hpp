#pragma once

#include <optional>

#include "topologies/cluster.hpp"
#include "topologies/config/reader.hpp"

/// The parts of a cluster file.
namespace lockstep {

/// The figures of a cable: bandwidth, latency, efficiency (1 where it is absent), and a source,
/// which is only for people.
[[nodiscard]] LinkFigures read_link(ObjectReader& in);

/// `{"builder": name, parameter: value, ...}` with the parameters of that builder's table. `noun`
/// says what is wanted where there is no such builder; with `fabrics_only` only those are accepted.
[[nodiscard]] BuilderCall read_builder_call(ObjectReader& in, std::string_view noun,
                                            bool fabrics_only);

/// `{"vertices": [...], "cables": [...]}`: a cluster written out. Notes what is wrong; empty then.
[[nodiscard]] std::optional<Cluster> read_graph(ObjectReader& in);

}  // namespace lockstep
