#include "topologies/builders/common.hpp"
#include "topologies/builders/registry.hpp"

namespace lockstep {
namespace {

FabricBlueprint build_star(const Parameters& parameters, const FabricDemand& demand) {
  FabricBlueprint star;
  add_switches(*star.plane, VertexKind::leaf_switch, 1);
  star.host_link = parameters.link("link");
  const auto terminals =
      static_cast<std::size_t>(demand.nodes) * static_cast<std::size_t>(demand.terminals_per_node);
  star.switch_of.assign(terminals, 0);
  return star;
}

}  // namespace

Builder star_builder() {
  return {"star",
          "everybody on one switch that never limits",
          {{"link", ParameterType::link, Presence::required, "from each host to the switch"}},
          R"({"builder": "star", "link": {"bandwidth": "400 Gb/s", "latency": "1 us"}})",
          "the crossbar: Dally and Towles, Principles and Practices of Interconnection Networks, "
          "2004, chapter 6",
          FabricBuilder{build_star}};
}

}  // namespace lockstep
