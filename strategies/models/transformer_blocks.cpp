#include "strategies/models/transformer_blocks.hpp"

#include "strategies/models/loss.hpp"

namespace lockstep {

namespace {

using Kind = OperationKind;

/// y = x + dropout(branch(norm(x))): the shape of both halves of a layer.
template <class Branch>
void append_half(BlockBuilder& block, const TransformerParts& parts, const std::string& name,
                 const Ref& x, const Ref& y, Branch&& branch) {
  const Ref normalised = append_norm(block, parts, name + ".norm", x);
  const Ref out = append_dropout(block, parts, name + ".dropout", branch(normalised));
  block.append(Kind::add, name + ".add", {out, x}, {y});
}

/// Rows of the learned table of positions.
[[nodiscard]] Ref append_positions(BlockBuilder& block, const TransformerParts& parts) {
  const TensorId ids =
      block.graph().input("position_ids", {parts.batch, parts.sequence}, Dtype::int32);
  const Ref table = block.weight("position_embedding.weight",
                                 {{Dim::positions, parts.config.sequence}, parts.hidden});
  const Ref y = block.tensor("position_embedding", {parts.batch, parts.sequence, parts.hidden});
  block.append(Kind::embedding, "position_embedding", {{.tensor = ids}, table}, {y});
  return y;
}

}  // namespace

Ref append_norm(BlockBuilder& block, const TransformerParts& parts, const std::string& name,
                const Ref& x) {
  const bool layer = parts.config.norm == Normalisation::layer;
  const Extent over = block.extents(x).back();
  std::vector<Ref> reads{x, block.weight(name + ".gain", {over})};
  if (layer) reads.push_back(block.weight(name + ".bias", {over}));
  // Mean and reciprocal standard deviation; RMS norm needs the latter alone.
  const Ref statistics =
      block.tensor(name + ".statistics",
                   {parts.batch, parts.sequence, {Dim::statistic, layer ? 2 : 1}}, Dtype::fp32);
  const Ref y = block.like(name, x);
  Operation& norm = block.append(Kind::normalisation, name, std::move(reads), {y, statistics});
  norm.norm = parts.config.norm;
  norm.over = {over.dim};
  return y;
}

Ref append_dropout(BlockBuilder& block, const TransformerParts& parts, const std::string& name,
                   const Ref& x, const std::optional<Ref>& result) {
  if (parts.config.dropout == 0) return x;
  const Ref y = result ? *result : block.like(name, x);
  const Ref mask = block.like(name + ".mask", x, Dtype::uint8);
  block.append(Kind::dropout, name, {x}, {y, mask}).dropout = parts.config.dropout;
  return y;
}

std::optional<Ref> append_bias(BlockBuilder& block, const TransformerParts& parts,
                               const std::string& name, std::vector<Extent> extents) {
  if (!parts.config.bias) return std::nullopt;
  return block.weight(name + ".bias", std::move(extents));
}

Ref append_mlp(BlockBuilder& block, const TransformerParts& parts, const std::string& name,
               std::int64_t ffn, const Ref& x) {
  const Extent inner{Dim::ffn, ffn};
  const int fused = parts.config.gated ? block.join() : 0;
  const auto widen = [&](const std::string& product) {
    const Ref weight = block.weight(product + ".weight", {parts.hidden, inner});
    const auto bias = append_bias(block, parts, product, {inner});
    const Ref y = block.tensor(product, {parts.batch, parts.sequence, inner});
    block.matmul(product, x, weight, bias, y).fused = fused;
    return y;
  };
  std::vector<Ref> operands{widen(name + ".up")};
  if (parts.config.gated) operands.push_back(widen(name + ".gate"));
  const Ref active = block.like(name + ".activation", operands.front());
  block.append(Kind::activation, name + ".activation", operands, {active}).function =
      parts.config.function;
  const Ref weight = block.weight(name + ".down.weight", {inner, parts.hidden});
  const auto bias = append_bias(block, parts, name + ".down", {parts.hidden});
  const Ref y = block.like(name + ".down", x);
  block.matmul(name + ".down", active, weight, bias, y);
  return y;
}

int embedding_block(GraphBuilder& graph, const TransformerParts& parts, Ref& table) {
  const TensorId tokens = graph.input("tokens", {parts.batch, parts.sequence}, Dtype::int32);
  BlockBuilder block{graph, "embedding", std::nullopt, parts.residual};
  const bool learned = parts.config.positions == Positions::learned;
  const bool drops = parts.config.dropout > 0;
  const auto result = [&](const std::string& name, bool last) {
    return last ? block.output() : block.tensor(name, {parts.batch, parts.sequence, parts.hidden});
  };
  table =
      block.weight("embedding.weight", {{Dim::vocabulary, parts.config.vocabulary}, parts.hidden});
  Ref x = result("embedding", !learned && !drops);
  block.append(Kind::embedding, "embedding", {{.tensor = tokens}, table}, {x});
  if (learned) {
    const Ref positions = append_positions(block, parts);
    const Ref sum = result("embedding.sum", !drops);
    block.append(Kind::add, "embedding.add", {x, positions}, {sum});
    x = sum;
  }
  (void)append_dropout(block, parts, "embedding.dropout", x, block.output());
  return block.finish();
}

int head_block(GraphBuilder& graph, const TransformerParts& parts, const Ref& table) {
  const Extent vocabulary{Dim::vocabulary, parts.config.vocabulary};
  const TensorId labels = graph.input("labels", {parts.batch, parts.sequence}, Dtype::int32);
  BlockBuilder block{graph, "head", parts.residual, std::nullopt};
  const Ref x = append_norm(block, parts, "head.norm", block.input());
  const Ref weight = parts.config.tied_embeddings
                         ? table
                         : block.weight("head.weight", {vocabulary, parts.hidden});
  const Ref logits = block.tensor("logits", {parts.batch, parts.sequence, vocabulary});
  block.matmul("logits", x, weight, std::nullopt, logits).math = block.options().output_math();
  append_loss(block, logits, labels);
  return block.finish();
}

int layer_block(GraphBuilder& graph, const TransformerParts& parts, bool experts) {
  BlockBuilder block{graph, experts ? "expert_layer" : "layer", parts.residual, parts.residual};
  const Ref middle = block.like("residual.middle", block.input());
  append_half(block, parts, "attention", block.input(), middle, [&](const Ref& x) {
    return parts.config.latent ? append_latent_attention(block, parts, x)
                               : append_attention(block, parts, x);
  });
  append_half(block, parts, "mlp", middle, block.output(), [&](const Ref& x) {
    return experts ? append_experts(block, parts, x)
                   : append_mlp(block, parts, "mlp", parts.config.ffn, x);
  });
  return block.finish();
}

}  // namespace lockstep
