#include "strategies/models/transformer_blocks.hpp"

#include "sim/program/several_documents.hpp"

namespace lockstep {

namespace {

using Kind = OperationKind;

/// T5 and vision transformers have dropout between the two matrices as well (Raffel et al. 2020,
/// section 2.1; google-research/vision_transformer, models_vit.py).
[[nodiscard]] bool drops_in_mlp(const TransformerConfig& config) {
  return config.image || config.encoder;
}

/// dropout(branch(x)), normalized before, after or around.
template <class Branch>
[[nodiscard]] Ref append_branch(BlockBuilder& block, const TransformerParts& parts,
                                const std::string& name, const Ref& x, Branch&& branch) {
  const NormPlace place = parts.config.norm_place;
  const Ref from = place == NormPlace::after ? x : append_norm(block, parts, name + ".norm", x);
  const Ref out = branch(from);
  const Ref normal =
      place == NormPlace::before ? out : append_norm(block, parts, name + ".post_norm", out);
  return append_dropout(block, parts.config.dropout, name + ".dropout", normal);
}

[[nodiscard]] Ref attention_of(BlockBuilder& block, const TransformerParts& parts, const Ref& x) {
  return parts.config.latent ? append_latent_attention(block, parts, x)
                             : append_attention(block, parts, x);
}

[[nodiscard]] Ref mlp_of(BlockBuilder& block, const TransformerParts& parts, const Ref& x) {
  return parts.layer.experts ? append_experts(block, parts, x)
                             : append_mlp(block, parts, "mlp", parts.config.ffn, x);
}

/// x + dropout(attention of norm(x) to the encoder's result).
[[nodiscard]] Ref append_cross(BlockBuilder& block, const TransformerParts& parts, const Ref& x) {
  const Ref attention = append_branch(block, parts, "cross_attention", x, [&](const Ref& from) {
    return append_cross_attention(block, parts, from);
  });
  const Ref y = block.like("residual.cross", x);
  block.append(Kind::add, "cross_attention.add", {attention, x}, {y});
  return y;
}

/// One half of a layer after the other.
void append_halves(BlockBuilder& block, const TransformerParts& parts, const Ref& x, const Ref& y) {
  const Ref middle = block.like("residual.middle", x);
  const Ref attention = append_branch(block, parts, "attention", x, [&](const Ref& from) {
    return attention_of(block, parts, from);
  });
  block.append(Kind::add, "attention.add", {attention, x}, {middle});
  const Ref before = parts.encoded ? append_cross(block, parts, middle) : middle;
  const Ref mlp = append_branch(block, parts, "mlp", before,
                                [&](const Ref& from) { return mlp_of(block, parts, from); });
  block.append(Kind::add, "mlp.add", {mlp, before}, {y});
}

/// y = x + attention(norm(x)) + mlp(norm(x)), the norms one or two.
void append_parallel_halves(BlockBuilder& block, const TransformerParts& parts, const Ref& x,
                            const Ref& y) {
  const Ref first = append_norm(block, parts, "attention.norm", x);
  const Ref second = parts.config.residual == Residual::parallel
                         ? first
                         : append_norm(block, parts, "mlp.norm", x);
  const double dropout = parts.config.dropout;
  const Ref attention =
      append_dropout(block, dropout, "attention.dropout", attention_of(block, parts, first));
  const Ref mlp = append_dropout(block, dropout, "mlp.dropout", mlp_of(block, parts, second));
  const Ref both = block.like("residual.middle", x);
  block.append(Kind::add, "mlp.add", {attention, mlp}, {both});
  block.append(Kind::add, "residual.add", {both, x}, {y});
}

[[nodiscard]] std::string name_of(const TransformerParts& parts) {
  const LayerKind& kind = parts.layer;
  return parts.stack + (kind.windowed ? "windowed_" : "") +
         (kind.experts ? "expert_layer" : "layer");
}

}  // namespace

VisibleKeys TransformerParts::visible() const {
  VisibleKeys out;
  if (layer.windowed) out = {.window = config.window->size, .chunked = config.window->chunked};
  if (!has_documents(config)) return out;
  out.documents = config.documents;
  if (may_hold_several(config.packed, config.sequence)) out.packed = config.packed;
  return out;
}

bool TransformerParts::rotates() const {
  if (config.positions != Positions::rotary) return false;
  return !config.window || config.window->full_rotary || layer.windowed;
}

Ref append_norm(BlockBuilder& block, const TransformerParts& parts, const std::string& name,
                const Ref& x, const std::optional<Ref>& result) {
  const bool layer = parts.config.norm == Normalization::layer;
  const Extent over = block.extents(x).back();
  const bool gain = parts.config.norm_gain;
  std::vector<Ref> reads{x};
  if (gain) reads.push_back(block.weight(name + ".gain", {over}));
  if (gain && layer && parts.config.norm_bias)
    reads.push_back(block.weight(name + ".bias", {over}));
  // Mean and reciprocal standard deviation; RMS norm needs the latter alone.
  const Ref statistics =
      block.tensor(name + ".statistics",
                   {parts.batch, parts.sequence, {Dim::statistic, layer ? 2 : 1}}, Dtype::fp32);
  const Ref y = result ? *result : block.like(name, x);
  Operation& norm = block.append(Kind::normalization, name, std::move(reads), {y, statistics});
  norm.norm = parts.config.norm;
  norm.over = {over.dim};
  return y;
}

Ref append_head_norm(BlockBuilder& block, const TransformerParts& parts, const std::string& name,
                     const Ref& x) {
  const QueryKeyNorm kind = parts.config.qk_norm;
  if (kind == QueryKeyNorm::none) return x;
  const bool together = kind == QueryKeyNorm::all_heads;
  const bool layer = parts.config.norm == Normalization::layer;
  const Extent heads = block.extents(x)[2];
  const Extent size = block.extents(x)[3];
  std::vector<Extent> gain{size};
  if (kind == QueryKeyNorm::per_head) gain = {heads, size};
  if (together) gain = {{Dim::hidden, heads.size * size.size}};  // on every rank whole
  std::vector<Extent> rows{parts.batch, parts.sequence};
  if (!together) rows.push_back(heads);
  rows.push_back({Dim::statistic, layer ? 2 : 1});
  const Ref weight = block.weight(name + ".gain", std::move(gain));
  const Ref statistics = block.tensor(name + ".statistics", std::move(rows), Dtype::fp32);
  const Ref y = block.like(name, x);
  Operation& norm = block.append(Kind::normalization, name, {x, weight}, {y, statistics});
  norm.norm = parts.config.norm;
  norm.over = {size.dim};
  if (together) norm.over = {heads.dim, size.dim};
  return y;
}

Ref append_dropout(BlockBuilder& block, double dropout, const std::string& name, const Ref& x,
                   const std::optional<Ref>& result) {
  if (dropout == 0) return x;
  const Ref y = result ? *result : block.like(name, x);
  const Ref mask = block.like(name + ".mask", x, Dtype::uint8);
  block.append(Kind::dropout, name, {x}, {y, mask}).dropout = dropout;
  return y;
}

std::optional<Ref> append_bias(BlockBuilder& block, bool has_bias, const std::string& name,
                               std::vector<Extent> extents) {
  if (!has_bias) return std::nullopt;
  return block.weight(name + ".bias", std::move(extents));
}

Ref append_mlp(BlockBuilder& block, const TransformerParts& parts, const std::string& name,
               std::int64_t ffn, const Ref& x) {
  const Extent inner{Dim::ffn, ffn};
  const int fused = parts.config.gated ? block.join() : 0;
  const bool biased = has_mlp_bias(parts.config);
  const auto widen = [&](const std::string& gemm) {
    const Ref weight = block.weight(gemm + ".weight", {parts.hidden, inner});
    const auto bias = append_bias(block, biased, gemm, {inner});
    const Ref y = block.tensor(gemm, {parts.batch, parts.sequence, inner});
    block.matmul(gemm, x, weight, bias, y).fused = fused;
    return y;
  };
  std::vector<Ref> operands{widen(name + ".up")};
  if (parts.config.gated) operands.push_back(widen(name + ".gate"));
  const Ref active = block.like(name + ".activation", operands.front());
  for (Ref& operand : operands) operand = block.activation_input(operand);
  block.append(Kind::activation, name + ".activation", operands, {active}).function =
      parts.config.function;
  const Ref weight = block.weight(name + ".down.weight", {inner, parts.hidden});
  const auto bias = append_bias(block, biased, name + ".down", {parts.hidden});
  const Ref kept = append_dropout(block, drops_in_mlp(parts.config) ? parts.config.dropout : 0,
                                  name + ".activation.dropout", active);
  const Ref y = block.like(name + ".down", x);
  block.matmul(name + ".down", kept, weight, bias, y);
  return y;
}

Ref append_positions(BlockBuilder& block, const TransformerParts& parts) {
  const TensorId ids =
      block.graph().input("position_ids", {parts.batch, parts.sequence}, Dtype::int32);
  const Ref table = block.weight("position_embedding.weight",
                                 {{Dim::positions, position_rows(parts.config)}, parts.hidden});
  const Ref y = block.tensor("position_embedding", {parts.batch, parts.sequence, parts.hidden});
  block.append(Kind::embedding, "position_embedding", {{.tensor = ids}, table}, {y});
  return y;
}

int embedding_block(GraphBuilder& graph, const TransformerParts& parts, Ref& table) {
  const TensorId tokens = graph.input("tokens", {parts.batch, parts.sequence}, Dtype::int32);
  BlockBuilder block{graph, "embedding", std::nullopt, parts.residual};
  const bool learned = parts.config.positions == Positions::learned;
  const bool normal = parts.config.embedding_norm;
  const bool drops = parts.config.dropout > 0;
  const auto result = [&](const std::string& name, bool last) {
    return last ? block.output() : block.tensor(name, {parts.batch, parts.sequence, parts.hidden});
  };
  table =
      block.weight("embedding.weight", {{Dim::vocabulary, parts.config.vocabulary}, parts.hidden});
  Ref x = result("embedding", !learned && !normal && !drops);
  block.append(Kind::embedding, "embedding", {{.tensor = tokens}, table}, {x});
  if (learned) {
    const Ref positions = append_positions(block, parts);
    const Ref sum = result("embedding.sum", !normal && !drops);
    block.append(Kind::add, "embedding.add", {x, positions}, {sum});
    x = sum;
  }
  if (normal) x = append_norm(block, parts, "embedding.norm", x, result("embedding.norm", !drops));
  (void)append_dropout(block, parts.config.dropout, "embedding.dropout", x, block.output());
  return block.finish();
}

void append_layer(BlockBuilder& block, const TransformerParts& parts, const Ref& x, const Ref& y) {
  if (parts.config.residual == Residual::sequential) {
    append_halves(block, parts, x, y);
  } else {
    append_parallel_halves(block, parts, x, y);
  }
}

int layer_block(GraphBuilder& graph, const TransformerParts& parts) {
  BlockBuilder block{graph, name_of(parts), parts.residual, parts.residual};
  if (parts.layer.wide) block.widen();
  if (parts.condition) {
    append_conditioned_layer(block, parts, block.input(), block.output());
    return block.finish();
  }
  append_layer(block, parts, block.input(), block.output());
  return block.finish();
}

int first_layer_block(GraphBuilder& graph, TransformerParts parts, Ref& distances) {
  BlockBuilder block{graph, parts.stack + "first_layer", parts.residual, parts.residual};
  if (parts.layer.wide) block.widen();
  distances = block.weight("relative_bias.weight", {{Dim::positions, parts.config.encoder->buckets},
                                                    {Dim::heads, parts.config.heads}});
  parts.distances = distances;
  append_layer(block, parts, block.input(), block.output());
  return block.finish();
}

}  // namespace lockstep
