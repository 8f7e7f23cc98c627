#include "strategies/models/transformer_blocks.hpp"

namespace lockstep {

namespace {

using Kind = OperationKind;

struct Heads {
  Ref q;
  Ref k;
  Ref v;
};

/// q = x wq, k = x wk, v = x wv, as one kernel where GEMMs are joined.
[[nodiscard]] Heads append_projections(BlockBuilder& block, const TransformerParts& parts,
                                       const Ref& x) {
  const TransformerConfig& config = parts.config;
  const Extent size{Dim::head_size, config.head_size};
  const int fused = block.join();
  const auto project = [&](const std::string& name, const Extent& heads) {
    const Ref weight = block.weight(name + ".weight", {parts.hidden, heads, size});
    std::optional<Ref> bias;
    if (config.bias || config.qkv_bias) bias = block.weight(name + ".bias", {heads, size});
    const Ref y = block.tensor(name, {parts.batch, parts.sequence, heads, size});
    block.matmul(name, x, weight, bias, y).fused = fused;
    return y;
  };
  const Extent kv_heads{Dim::kv_heads, config.kv_heads};
  const Ref q = project("attention.q", {Dim::heads, config.heads});
  const Ref k = project("attention.k", kv_heads);
  return {q, k, project("attention.v", kv_heads)};
}

[[nodiscard]] Ref append_rotary(BlockBuilder& block, const TransformerParts& parts,
                                const std::string& name, const Ref& x) {
  if (!parts.rotates()) return x;
  const Ref y = block.like(name, x);
  block.append(Kind::rotary, name, {x}, {y});
  return y;
}

/// The heads of q with the head size of v.
[[nodiscard]] std::vector<Extent> context_extents(const BlockBuilder& block, const Ref& q,
                                                  const Ref& v) {
  std::vector<Extent> extents = block.extents(q);
  extents.back() = block.extents(v).back();
  return extents;
}

[[nodiscard]] Ref append_fused_core(BlockBuilder& block, const TransformerParts& parts,
                                    const Heads& heads) {
  const Ref o = block.tensor("attention.context", context_extents(block, heads.q, heads.v));
  const Ref statistics =
      block.tensor("attention.statistics",
                   {parts.batch, {Dim::heads, parts.config.heads}, parts.sequence}, Dtype::fp32);
  std::vector<Ref> reads{heads.q, heads.k, heads.v};
  if (parts.config.sinks) {
    reads.push_back(block.weight("attention.sinks", {{Dim::heads, parts.config.heads}}));
  }
  Operation& core = block.append(Kind::attention, "attention", std::move(reads), {o, statistics});
  core.causal = parts.config.causal;
  core.visible = parts.visible();
  core.dropout = attention_dropout(parts.config);
  core.math = block.attention_math();
  return o;
}

[[nodiscard]] Ref append_unfused_core(BlockBuilder& block, const TransformerParts& parts,
                                      const Heads& heads) {
  const std::vector<Extent> square{parts.batch,
                                   {Dim::heads, parts.config.heads},
                                   parts.sequence,
                                   {Dim::keys, parts.sequence.size}};
  const auto attributes = [&](Operation& operation) {
    operation.causal = parts.config.causal;
    operation.visible = parts.visible();
    operation.math = block.attention_math();
  };
  const Ref scores = block.tensor("attention.scores", square);
  attributes(
      block.append(Kind::attention_scores, "attention.scores", {heads.q, heads.k}, {scores}));
  const Ref probabilities = block.tensor("attention.probabilities", square);
  attributes(block.append(Kind::softmax, "attention.softmax", {scores}, {probabilities}));
  const Ref kept = append_dropout(block, attention_dropout(parts.config), "attention.core_dropout",
                                  probabilities);
  const Ref o = block.tensor("attention.context", context_extents(block, heads.q, heads.v));
  attributes(block.append(Kind::attention_context, "attention.context", {kept, heads.v}, {o}));
  return o;
}

}  // namespace

Ref append_attention_core(BlockBuilder& block, const TransformerParts& parts, const Ref& q,
                          const Ref& k, const Ref& v) {
  const Heads heads{q, k, v};
  return parts.config.attention == AttentionKind::flash ? append_fused_core(block, parts, heads)
                                                        : append_unfused_core(block, parts, heads);
}

Ref append_out_projection(BlockBuilder& block, const TransformerParts& parts, const Ref& o,
                          const Ref& x) {
  const auto& extents = block.extents(o);
  const Ref weight = block.weight("attention.out.weight", {extents[2], extents[3], parts.hidden});
  const auto bias = append_bias(block, parts.config.bias || parts.config.out_bias, "attention.out",
                                {parts.hidden});
  const Ref y = block.like("attention.out", x);
  block.matmul("attention.out", o, weight, bias, y);
  return y;
}

Ref append_attention(BlockBuilder& block, const TransformerParts& parts, const Ref& x) {
  const Heads heads = append_projections(block, parts, x);
  const Ref normal_q = append_head_norm(block, parts, "attention.q_norm", heads.q);
  const Ref normal_k = append_head_norm(block, parts, "attention.k_norm", heads.k);
  const Ref q = append_rotary(block, parts, "attention.q_rotary", normal_q);
  const Ref k = append_rotary(block, parts, "attention.k_rotary", normal_k);
  return append_out_projection(block, parts, append_attention_core(block, parts, q, k, heads.v), x);
}

}  // namespace lockstep
