#include "strategies/models/loss.hpp"
#include "strategies/models/models.hpp"

namespace lockstep {

namespace {

using Kind = OperationKind;

struct MlpParts {
  const MlpConfig& config;
  Extent batch;
  Extent hidden;
  Boundary residual;
};

int input_block(GraphBuilder& graph, const MlpParts& parts) {
  const TensorId features =
      graph.input("features", {parts.batch, parts.hidden}, graph.options.activations);
  BlockBuilder block{graph, "input", std::nullopt, parts.residual};
  block.append(Kind::cast, "input", {{.tensor = features}}, {block.output()});
  return block.finish();
}

/// y = x w (+ bias).
[[nodiscard]] Ref append_gemm(BlockBuilder& block, const MlpParts& parts, const std::string& name,
                              const Ref& x, const Extent& to) {
  const Ref weight = block.weight(name + ".weight", {block.extents(x).back(), to});
  std::optional<Ref> bias;
  if (parts.config.bias) bias = block.weight(name + ".bias", {to});
  const Ref y = block.tensor(name, {parts.batch, to});
  block.matmul(name, x, weight, bias, y);
  return y;
}

/// y = x + f(x w1) w2.
int mlp_block(GraphBuilder& graph, const MlpParts& parts, bool first) {
  BlockBuilder block{graph, first ? "first_layer" : "layer", parts.residual, parts.residual};
  const Ref up = append_gemm(block, parts, "mlp.up", block.input(), {Dim::ffn, parts.config.ffn});
  const Ref active = block.like("mlp.activation", up);
  block.append(Kind::activation, "mlp.activation", {up}, {active}).function = parts.config.function;
  const Ref down = append_gemm(block, parts, "mlp.down", active, parts.hidden);
  block.append(Kind::add, "mlp.add", {down, block.input()}, {block.output()});
  return block.finish(!first);
}

int mlp_head(GraphBuilder& graph, const MlpParts& parts) {
  const TensorId labels = graph.input("labels", {parts.batch}, Dtype::int32);
  BlockBuilder block{graph, "head", parts.residual, std::nullopt};
  append_loss(block, block.input(), labels);
  return block.finish();
}

}  // namespace

void build_mlp(GraphBuilder& graph, const MlpConfig& config) {
  const Extent batch{Dim::batch, graph.options.batch};
  const Extent hidden{Dim::hidden, config.hidden};
  const MlpParts parts{config, batch, hidden, graph.boundary("residual", {batch, hidden})};
  std::vector<int>& chain = graph.graph.chain;
  chain.push_back(input_block(graph, parts));
  chain.push_back(mlp_block(graph, parts, true));
  if (config.layers > 1) {
    const int layer = mlp_block(graph, parts, false);
    for (std::int64_t i = 1; i < config.layers; ++i) chain.push_back(layer);
  }
  chain.push_back(mlp_head(graph, parts));
}

}  // namespace lockstep
