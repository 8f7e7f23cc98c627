#include "strategies/models/build_model.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "strategies/models/models.hpp"

namespace lockstep {

namespace {

/// Weights of other positions that a block reads.
[[nodiscard]] std::set<std::pair<TensorId, int>> foreign_weights(const ModelGraph& graph,
                                                                 const Block& block) {
  std::set<std::pair<TensorId, int>> out;
  for (const Operation& operation : block.forward)
    for (const Ref& ref : operation.reads)
      if (ref.position && graph.tensors[ref.tensor].category == Category::weight)
        out.emplace(ref.tensor, *ref.position);
  return out;
}

void list_shared_weights(ModelGraph& graph) {
  std::vector<std::set<std::pair<TensorId, int>>> foreign;
  for (const Block& block : graph.blocks) foreign.push_back(foreign_weights(graph, block));
  for (std::size_t position = 0; position < graph.chain.size(); ++position) {
    for (const auto& [weight, first] : foreign[static_cast<std::size_t>(graph.chain[position])]) {
      auto found =
          std::find_if(graph.shared_weights.begin(), graph.shared_weights.end(),
                       [id = weight](const SharedWeight& each) { return each.weight == id; });
      if (found == graph.shared_weights.end())
        found = graph.shared_weights.insert(found, SharedWeight{weight, {first}});
      found->positions.push_back(static_cast<int>(position));
    }
  }
}

}  // namespace

ModelGraph build_model(const ModelConfig& model, const BuildOptions& options) {
  GraphBuilder graph{options};
  if (const auto* transformer = std::get_if<TransformerConfig>(&model.shape)) {
    build_transformer(graph, *transformer);
  } else if (const auto* mlp = std::get_if<MlpConfig>(&model.shape)) {
    build_mlp(graph, *mlp);
  } else {
    build_resnet(graph, std::get<ResNetConfig>(model.shape));
  }
  list_shared_weights(graph.graph);
  return std::move(graph.graph);
}

}  // namespace lockstep
