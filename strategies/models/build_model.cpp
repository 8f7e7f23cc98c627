#include "strategies/models/build_model.hpp"

#include "strategies/models/models.hpp"

namespace lockstep {

ModelGraph build_model(const ModelConfig& model, const BuildOptions& options) {
  GraphBuilder graph{options};
  if (const auto* transformer = std::get_if<TransformerConfig>(&model.shape)) {
    build_transformer(graph, *transformer);
  } else if (const auto* mlp = std::get_if<MlpConfig>(&model.shape)) {
    build_mlp(graph, *mlp);
  } else {
    build_resnet(graph, std::get<ResNetConfig>(model.shape));
  }
  return std::move(graph.graph);
}

}  // namespace lockstep
