#include <functional>
#include <numeric>
#include <string>

#include "topologies/builders/common.hpp"
#include "topologies/builders/registry.hpp"

namespace lockstep {
namespace {

using Shape = std::vector<std::int64_t>;

constexpr std::int64_t kMostTorusRanks = 1 << 20;

std::string to_text(const Shape& shape) {
  std::string text;
  for (const auto side : shape) text += (text.empty() ? "" : "x") + std::to_string(side);
  return text;
}

/// The most even sides with that product, in ascending order; empty if one of them would be 1.
Shape even_sides(std::int64_t ranks, std::size_t dimensions) {
  Shape sides;
  for (std::size_t left = dimensions; left > 1; --left) {
    std::int64_t side = 1;
    const auto fits = [left](std::int64_t of, std::int64_t total) {  // of^left <= total
      std::int64_t power = 1;
      for (std::size_t i = 0; i < left; ++i) power *= of;
      return power <= total;
    };
    for (std::int64_t each = 2; fits(each, ranks); ++each)
      if (ranks % each == 0) side = each;
    sides.push_back(side);
    ranks /= side;
  }
  sides.push_back(ranks);
  return sides.front() == 1 ? Shape{} : sides;
}

/// How the wanted size is made: "; --set topology.shape=[8,8] gives 64".
std::string shape_for(int ranks, std::size_t dimensions) {
  std::string text;
  for (const auto side : even_sides(ranks, dimensions))
    text += (text.empty() ? "" : ",") + std::to_string(side);
  if (text.empty()) return "; topology.shape determines its size";
  return "; --set topology.shape=[" + text + "] gives " + std::to_string(ranks) +
         " (in a scenario cluster.topology.shape)";
}

int size_of(const Shape& shape, std::size_t dimensions, int ranks) {
  if (shape.size() != dimensions) {
    throw BuildError("shape", "expected " + std::to_string(dimensions) + " sides, got " +
                                  std::to_string(shape.size()));
  }
  std::int64_t product = 1;
  for (const auto side : shape) {
    if (side > kMostTorusRanks / product) {
      throw BuildError("shape", "a torus has at most 1048576 ranks, got " + to_text(shape));
    }
    product *= side;
  }
  if (ranks != 0 && ranks != product) {
    throw BuildError("ranks", "a torus of shape " + to_text(shape) + " has " +
                                  std::to_string(product) + " ranks, got " + std::to_string(ranks) +
                                  shape_for(ranks, dimensions));
  }
  return static_cast<int>(product);
}

/// The neighbor of `rank` that is `step` further along the side of that length and stride.
VertexId neighbour(std::int64_t rank, std::int64_t stride, std::int64_t side, std::int64_t step) {
  const std::int64_t place = rank / stride % side;
  return static_cast<VertexId>(rank + ((place + step) % side - place) * stride);
}

/// The last side varies fastest. Along each side all links upwards come before all downwards; a
/// side of two has one cable, a side of one has none.
void add_side(Graph& graph, int ranks, std::int64_t stride, std::int64_t side,
              const LinkFigures& link) {
  if (side < 2) return;
  const auto steps = side == 2 ? Shape{1} : Shape{1, side - 1};
  for (const auto step : steps) {
    for (std::int64_t rank = 0; rank < ranks; ++rank) {
      add_link(graph, static_cast<VertexId>(rank), neighbour(rank, stride, side, step),
               LinkKind::network, link);
    }
  }
}

NodeBlueprint build_torus(const Parameters& parameters, int wanted, std::size_t dimensions) {
  const Shape& shape = parameters.shape("shape");
  const int ranks = size_of(shape, dimensions, wanted);
  NodeBlueprint torus;
  add_single_gpus(*torus.graph, ranks, true);
  std::int64_t stride = 1;
  for (auto side = shape.rbegin(); side != shape.rend(); ++side) {
    add_side(*torus.graph, ranks, stride, *side, parameters.link("link"));
    stride *= *side;
    torus.dimensions.push_back(static_cast<int>(*side));
  }
  return torus;
}

NodeBlueprint build_torus_2d(const Parameters& parameters, int ranks) {
  return build_torus(parameters, ranks, 2);
}

NodeBlueprint build_torus_3d(const Parameters& parameters, int ranks) {
  return build_torus(parameters, ranks, 3);
}

std::vector<Parameter> torus_parameters(int sides) {
  return {{"shape", ParameterType::shape, Presence::required, "ranks along each side", sides},
          {"link", ParameterType::link, Presence::required, "each cable"}};
}

constexpr std::string_view kSource =
    "Dally and Towles, Principles and Practices of Interconnection Networks, 2004, chapter 5; "
    "three-dimensional as in Jouppi et al., TPU v4, ISCA 2023, arXiv:2304.01433";

}  // namespace

Builder torus_2d_builder() {
  return {
      "torus_2d",
      "GPUs on a grid whose rows and columns close into rings",
      torus_parameters(2),
      R"({"builder": "torus_2d", "shape": [4, 4], "link": {"bandwidth": "25 GB/s", "latency": "1 us"}})",
      kSource,
      DirectBuilder{build_torus_2d}};
}

Builder torus_3d_builder() {
  return {
      "torus_3d",
      "GPUs on a three-dimensional grid whose lines close into rings",
      torus_parameters(3),
      R"({"builder": "torus_3d", "shape": [4, 4, 4], "link": {"bandwidth": "25 GB/s", "latency": "1 us"}})",
      kSource,
      DirectBuilder{build_torus_3d}};
}

}  // namespace lockstep
