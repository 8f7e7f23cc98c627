#include "strategies/models/loss.hpp"
#include "strategies/models/transformer_blocks.hpp"

namespace lockstep {

/// y = x w + bias, of every patch's values.
Ref append_patches(BlockBuilder& block, const TransformerParts& parts) {
  const ImageInput& image = *parts.config.image;
  const Extent patches{Dim::sequence, image.patches()};
  const Extent values{Dim::channels, image.patch_values()};
  const TensorId input =
      block.graph().input("patches", {parts.batch, patches, values}, block.options().activations);
  const Ref weight = block.weight("patch_embedding.weight", {values, parts.hidden});
  const Ref bias = block.weight("patch_embedding.bias", {parts.hidden});
  const Ref y = block.tensor("patch_embedding", {parts.batch, patches, parts.hidden});
  block.matmul("patch_embedding", {.tensor = input}, weight, bias, y, block.options().wide_math());
  return y;
}

namespace {

using Kind = OperationKind;

[[nodiscard]] Ref append_class_token(BlockBuilder& block, const TransformerParts& parts,
                                     const Ref& patches) {
  const Ref weight = block.weight("class_token.weight", {parts.hidden});
  const Ref y = block.tensor("class_token", {parts.batch, parts.sequence, parts.hidden});
  block.append(Kind::class_token, "class_token", {patches, weight}, {y});
  return y;
}

}  // namespace

int patch_block(GraphBuilder& graph, const TransformerParts& parts) {
  BlockBuilder block{graph, "embedding", std::nullopt, parts.residual};
  Ref x = append_patches(block, parts);
  if (parts.config.image->class_token) x = append_class_token(block, parts, x);
  const Ref positions = append_positions(block, parts);
  const bool drops = parts.config.dropout > 0;
  const Ref sum = drops ? block.like("embedding.sum", x) : block.output();
  block.append(Kind::add, "embedding.add", {x, positions}, {sum});
  (void)append_dropout(block, parts.config.dropout, "embedding.dropout", sum, block.output());
  return block.finish();
}

int image_head_block(GraphBuilder& graph, const TransformerParts& parts) {
  const TransformerConfig& config = parts.config;
  const Extent classes{Dim::vocabulary, config.vocabulary};
  const TensorId labels = graph.input("labels", {parts.batch}, Dtype::int32);
  BlockBuilder block{graph, "head", parts.residual, std::nullopt};
  const Ref x = append_norm(block, parts, "head.norm", block.input());
  const Ref pooled = block.tensor("head.pool", {parts.batch, parts.hidden});
  Operation& pool = block.append(Kind::pool_tokens, "head.pool", {x}, {pooled});
  pool.window = config.image->class_token ? 1 : 0;
  pool.over = {Dim::sequence};
  const Ref weight = block.weight("head.weight", {parts.hidden, classes});
  const auto bias = append_bias(block, config.head_bias, "head", {classes});
  const Ref logits = block.tensor("logits", {parts.batch, classes});
  block.matmul("logits", pooled, weight, bias, logits, block.options().output_math());
  append_loss(block, logits, labels);
  return block.finish();
}

}  // namespace lockstep
