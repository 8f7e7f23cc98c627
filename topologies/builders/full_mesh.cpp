#include "topologies/builders/common.hpp"
#include "topologies/builders/registry.hpp"

namespace lockstep {
namespace {

constexpr int kMostMeshRanks = 1024;  // about a million links

NodeBlueprint build_full_mesh(const Parameters& parameters, int ranks) {
  if (ranks > kMostMeshRanks) {
    throw BuildError("ranks", "a full mesh has at most 1024 ranks, got " + std::to_string(ranks));
  }
  NodeBlueprint mesh;
  add_single_gpus(*mesh.graph, ranks, false);
  const auto n = static_cast<unsigned>(ranks);
  for (unsigned from = 0; from < n; ++from) {
    for (unsigned to = 0; to < n; ++to) {
      if (from != to) {
        add_link(*mesh.graph, from, to, LinkKind::network, parameters.link("link"));
      }
    }
  }
  return mesh;
}

}  // namespace

Builder full_mesh_builder() {
  return {"full_mesh",
          "a cable between every two GPUs, 1024 ranks at most",
          {{"link", ParameterType::link, Presence::required, "each cable"}},
          R"({"builder": "full_mesh", "link": {"bandwidth": "25 GB/s", "latency": "1 us"}})",
          "the complete graph: n(n-1)/2 cables",
          DirectBuilder{build_full_mesh}};
}

}  // namespace lockstep
