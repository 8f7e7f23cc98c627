#pragma once

#include "topologies/graph/blueprint.hpp"

/// Helpers shared by several builders.
namespace lockstep {

/// Appends `ranks` GPUs, each a node of its own.
void add_single_gpus(Graph& graph, int ranks, bool forwards);

/// Appends `count` vertices of a kind to one node; GPUs and NICs are on rail index * rails / count.
/// All but GPUs forward. Returns the first id.
VertexId add_node_parts(Graph& graph, VertexKind kind, int count, int rails = 0);
/// Appends `count` switches to a fabric; returns the first id.
VertexId add_switches(Graph& graph, VertexKind kind, int count);

/// Throws BuildError for that parameter if a plane of a fabric would have far too many cables.
void check_cables(const char* parameter, double cables);

/// An HGX board in a two-socket server: eight GPUs connected by one NVSwitch vertex (its four or
/// six chips share every flow evenly) and eight NICs. GPU g and NIC g share PCIe switch g *
/// pcie_switches / 8; switches are distributed over the sockets. Parameters: nvlink (all NVLinks of
/// a GPU combined), pcie, cpu.
NodeBlueprint hgx_node(const Parameters& parameters, int pcie_switches);

}  // namespace lockstep
