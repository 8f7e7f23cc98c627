#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "sim/config/reader.hpp"
#include "topologies/builders/build_cluster.hpp"
#include "topologies/graph/cluster.hpp"

/// Readers for the parts of a cluster file.
namespace lockstep {

struct NodeBlueprint;

/// Networks between nodes.
inline constexpr std::array<std::string_view, 6> kTransportNames{
    "infiniband", "roce", "efa", "tcpxo", "slingshot", "omnipath"};

/// Parameters of a cable: bandwidth, latency, efficiency (default 1), an informal source and its
/// provenance.
[[nodiscard]] LinkFigures read_link(ObjectReader& in);

/// `{"builder": name, parameter: value, ...}` with that builder's parameters. `noun` names what is
/// expected in errors; only builders that `allows` admits are accepted.
[[nodiscard]] BuilderCall read_builder_call(ObjectReader& in, std::string_view noun,
                                            const std::function<bool(const Builder&)>& allows);

/// The same of a fabric, with the transport of its NICs.
[[nodiscard]] BuilderCall read_fabric_call(ObjectReader& in);

/// Describes the forms of a cluster file, each by the topologies that it may have.
void describe_cluster_body(ObjectReader& in);

/// `{"vertices": [...], "cables": [...]}`: an explicit graph. Empty if a problem was reported.
[[nodiscard]] std::optional<Cluster> read_graph(ObjectReader& in);

/// The same for one node that may be repeated: all vertices belong to it, the fabric connects to
/// its NICs, and unspecified rails are assigned. nullptr if a problem was reported.
[[nodiscard]] std::unique_ptr<NodeBlueprint> read_node(ObjectReader& in);

}  // namespace lockstep
