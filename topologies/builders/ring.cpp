#include "topologies/builders/common.hpp"
#include "topologies/builders/registry.hpp"

namespace lockstep {
namespace {

/// GPUs in a circle. All clockwise links r -> r+1 come before all counter-clockwise ones, so that a
/// tie at half the way round that the lowest link id breaks goes clockwise. Two GPUs share one
/// cable.
NodeBlueprint build_ring(const Parameters& parameters, int ranks) {
  NodeBlueprint ring;
  add_single_gpus(*ring.graph, ranks, true);
  ring.dimensions = {ranks};
  const auto n = static_cast<unsigned>(ranks);
  const LinkFigures& link = parameters.link("link");
  if (n < 2) return ring;
  for (unsigned r = 0; r < n; ++r) {
    add_link(*ring.graph, r, (r + 1) % n, LinkKind::network, link);
  }
  if (n == 2) return ring;
  for (unsigned r = 0; r < n; ++r) {
    add_link(*ring.graph, r, (r + n - 1) % n, LinkKind::network, link);
  }
  return ring;
}

}  // namespace

Builder ring_builder() {
  return {"ring",
          "GPUs in a circle, each cabled to two neighbors",
          {{"link", ParameterType::link, Presence::required, "each cable"}},
          R"({"builder": "ring", "link": {"bandwidth": "25 GB/s", "latency": "1 us"}})",
          "Dally and Towles, Principles and Practices of Interconnection Networks, 2004, chapter 5 "
          "(a k-ary 1-cube)",
          DirectBuilder{build_ring}};
}

}  // namespace lockstep
