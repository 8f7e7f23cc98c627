#include <string>

#include "sim/base/math.hpp"
#include "topologies/builders/common.hpp"
#include "topologies/builders/registry.hpp"

namespace lockstep {
namespace {

struct Shape {
  int hosts = 1;    // p: per router
  int routers = 1;  // a: per group
  int globals = 1;  // h: global ports per router
  int groups = 1;   // g
};

Shape shape_of(const Parameters& parameters, int terminals) {
  Shape shape;
  shape.hosts = parameters.count("hosts_per_router");
  shape.routers = parameters.count("routers_per_group");
  shape.globals = parameters.count("global_ports");
  const std::int64_t per_group = std::int64_t{shape.hosts} * shape.routers;
  const std::int64_t groups = ceil_div<std::int64_t>(terminals, per_group);
  const std::int64_t most = std::int64_t{shape.routers} * shape.globals + 1;
  if (groups > most) {
    throw BuildError("global_ports", std::to_string(terminals) + " hosts make " +
                                         std::to_string(groups) + " groups; these ports join " +
                                         std::to_string(most) + " at most");
  }
  check_cables("routers_per_group",
               static_cast<double>(groups) * shape.routers * (shape.routers + shape.globals));
  shape.groups = static_cast<int>(groups);
  return shape;
}

void add_group(Graph& graph, const Shape& shape, int group, const LinkFigures& local) {
  const auto first = static_cast<VertexId>(group * shape.routers);
  for (VertexId a = 0; a < static_cast<VertexId>(shape.routers); ++a) {
    for (VertexId b = a + 1; b < static_cast<VertexId>(shape.routers); ++b) {
      add_cable(graph, first + a, first + b, LinkKind::network, local);
    }
  }
}

/// Group `low` reaches `high` = low + d from its ports (d - 1), (d - 1) + (g - 1), ...; `high`
/// reaches back at distance g - d round the circle of groups. Every pair has as many cables as the
/// ports allow, spread over the routers.
void join_groups(Graph& graph, const Shape& shape, int low, int high, const LinkFigures& global) {
  const int others = shape.groups - 1;
  const int cables = shape.routers * shape.globals / others;
  for (int cable = 0; cable < cables; ++cable) {
    const int low_port = cable * others + (high - low - 1);
    const int high_port = cable * others + (shape.groups - (high - low) - 1);
    add_cable(graph, static_cast<VertexId>(low * shape.routers + low_port / shape.globals),
              static_cast<VertexId>(high * shape.routers + high_port / shape.globals),
              LinkKind::network, global);
  }
}

FabricBlueprint build_dragonfly(const Parameters& parameters, const FabricDemand& demand) {
  const int terminals = demand.nodes * demand.terminals_per_node;
  const Shape shape = shape_of(parameters, terminals);
  FabricBlueprint fabric;
  fabric.host_link = parameters.link("link");
  add_switches(*fabric.plane, VertexKind::leaf_switch, shape.groups * shape.routers);
  for (int group = 0; group < shape.groups; ++group) {
    add_group(*fabric.plane, shape, group, parameters.link("local", "link"));
  }
  for (int low = 0; low < shape.groups; ++low) {
    for (int high = low + 1; high < shape.groups; ++high) {
      join_groups(*fabric.plane, shape, low, high, parameters.link("global", "link"));
    }
  }
  for (int terminal = 0; terminal < terminals; ++terminal) {
    fabric.switch_of.push_back(static_cast<VertexId>(terminal / shape.hosts));
  }
  return fabric;
}

}  // namespace

Builder dragonfly_builder() {
  using enum ParameterType;
  using enum Presence;
  return {
      "dragonfly",
      "groups of routers, all joined within a group, every two groups by global cables",
      {{"link", link, required, "from each host to its router"},
       {"local", link, optional, "between routers of a group; else as link"},
       {"global", link, optional, "between groups; else as link"},
       {"hosts_per_router", count, required, "p; balanced at a = 2p = 2h"},
       {"routers_per_group", count, required, "a"},
       {"global_ports", count, required, "h, per router; at most a*h + 1 groups"}},
      R"({"builder": "dragonfly", "link": {"bandwidth": "200 Gb/s", "latency": "500 ns"}, "hosts_per_router": 2, "routers_per_group": 4, "global_ports": 2})",
      "Kim, Dally, Scott and Abts, Technology-Driven, Highly-Scalable Dragonfly Topology, ISCA "
      "2008",
      FabricBuilder{build_dragonfly}};
}

}  // namespace lockstep
