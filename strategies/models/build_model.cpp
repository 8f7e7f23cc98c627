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

/// Of weights in at most 8 bits only those are kept so that GEMMs of that type alone read: tables,
/// norms, biases, routers and, unless the recipe says otherwise, the output layer stay as
/// activations.
void widen_weights(ModelGraph& graph, const BuildOptions& options) {
  if (!is_narrow(options.weights) || !is_narrow(options.math)) return;
  std::set<TensorId> narrow;
  std::set<TensorId> wide;
  for (const Block& block : graph.blocks) {
    for (const Operation& operation : block.forward) {
      const bool casts =
          operation.kind == OperationKind::matmul && operation.math && is_narrow(*operation.math);
      for (const Ref& ref : operation.reads) {
        const bool factor = casts && ref == read_of(operation, Operand::b);
        (factor ? narrow : wide).insert(ref.tensor);
      }
    }
  }
  for (TensorId id = 0; id < graph.tensors.size(); ++id) {
    Tensor& tensor = graph.tensors[id];
    if (tensor.category == Category::weight && (!narrow.contains(id) || wide.contains(id)))
      tensor.dtype = options.activations;
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
  widen_weights(graph.graph, options);
  return std::move(graph.graph);
}

}  // namespace lockstep
