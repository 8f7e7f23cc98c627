#pragma once

#include "topologies/graph/blueprint.hpp"

/// Auxiliary ranks that several builders share.
namespace lockstep {

/// Appends `ranks` GPUs, each a node of its own.
void add_single_gpus(Graph& graph, int ranks, bool forwards);

/// Appends `count` vertices of a kind to one node; those of GPUs and NICs are on rail
/// index * rails / count. All but GPUs forward. Returns the first one's id.
VertexId add_node_parts(Graph& graph, VertexKind kind, int count, int rails = 0);
/// Appends `count` switches to a fabric; returns the first one's id.
VertexId add_switches(Graph& graph, VertexKind kind, int count);

/// Throws BuildError, on account of that parameter, where a fabric's plane would have far too many.
void check_cables(const char* parameter, double cables);

/// An HGX board in a server of two sockets: eight GPUs joined by one NVSwitch vertex (the six or
/// four chips carry one flow alike), eight NICs. GPU g and NIC g share PCIe switch g *
/// pcie_switches / 8, the sockets share the switches evenly. Parameters: nvlink (all of a GPU's
/// NVLinks as one), pcie, cpu.
NodeBlueprint hgx_node(const Parameters& parameters, int pcie_switches);

}  // namespace lockstep
