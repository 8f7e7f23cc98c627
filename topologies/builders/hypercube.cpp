#include <bit>

#include "topologies/builders/common.hpp"
#include "topologies/builders/registry.hpp"

namespace lockstep {
namespace {

NodeBlueprint build_hypercube(const Parameters& parameters, int ranks) {
  const auto n = static_cast<unsigned>(ranks);
  if (!std::has_single_bit(n)) {
    const unsigned below = std::bit_floor(n);
    throw BuildError("ranks", "a hypercube has a power of two of ranks, such as " +
                                  std::to_string(below) + " or " + std::to_string(2 * below) +
                                  ", got " + std::to_string(ranks));
  }
  NodeBlueprint cube;
  add_single_gpus(*cube.graph, ranks, true);
  for (unsigned bit = 1; bit < n; bit *= 2) {
    for (unsigned r = 0; r < n; ++r) {
      add_link(*cube.graph, r, r ^ bit, LinkKind::network, parameters.link("link"));
    }
  }
  return cube;
}

}  // namespace

Builder hypercube_builder() {
  return {"hypercube",
          "2^d GPUs, each cabled to the d whose numbers differ in one bit",
          {{"link", ParameterType::link, Presence::required, "each cable"}},
          R"({"builder": "hypercube", "link": {"bandwidth": "25 GB/s", "latency": "1 us"}})",
          "Seitz, The Cosmic Cube, CACM 28(1), 1985",
          DirectBuilder{build_hypercube}};
}

}  // namespace lockstep
