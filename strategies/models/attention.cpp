#include "strategies/models/transformer_blocks.hpp"

namespace lockstep {

namespace {

using Kind = OperationKind;

struct Heads {
  Ref q;
  Ref k;
  Ref v;
};

/// y = x w (+ bias) of one of queries, keys and values; GEMMs of one `fused` number are one kernel.
[[nodiscard]] Ref append_projection(BlockBuilder& block, const TransformerParts& parts,
                                    const std::string& name, const Ref& x, const Extent& heads,
                                    int fused) {
  const TransformerConfig& config = parts.config;
  const Extent size{Dim::head_size, config.head_size};
  const Ref weight = block.weight(name + ".weight", {parts.hidden, heads, size});
  std::optional<Ref> bias;
  if (config.bias || config.qkv_bias) bias = block.weight(name + ".bias", {heads, size});
  const Ref y = block.tensor(name, {parts.batch, block.extents(x)[1], heads, size});
  block.matmul(name, x, weight, bias, y).fused = fused;
  return y;
}

[[nodiscard]] Extent query_heads(const TransformerParts& parts) {
  return {Dim::heads, parts.config.heads};
}
[[nodiscard]] Extent key_heads(const TransformerParts& parts) {
  return {Dim::kv_heads, parts.config.kv_heads};
}

/// q = x wq, k = x wk, v = x wv, as one kernel where GEMMs are joined.
[[nodiscard]] Heads append_projections(BlockBuilder& block, const TransformerParts& parts,
                                       const Ref& x) {
  const int fused = block.join();
  const Ref q = append_projection(block, parts, "attention.q", x, query_heads(parts), fused);
  const Ref k = append_projection(block, parts, "attention.k", x, key_heads(parts), fused);
  return {q, k, append_projection(block, parts, "attention.v", x, key_heads(parts), fused)};
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

/// What is attended to, and how: another stack's tokens have no order for the queries.
struct Attended {
  std::string name;
  bool causal;
  std::optional<Ref> distances;
};

[[nodiscard]] Ref append_unfused_core(BlockBuilder& block, const TransformerParts& parts,
                                      const Heads& heads, const Attended& how) {
  const std::vector<Extent> square{parts.batch,
                                   {Dim::heads, parts.config.heads},
                                   parts.sequence,
                                   {Dim::keys, block.extents(heads.k)[1].size}};
  const std::string& name = how.name;
  const auto attributes = [&](Operation& operation) {
    operation.causal = how.causal;
    operation.visible = parts.visible();
    operation.math = block.attention_math();
  };
  Ref scores = block.tensor(name + ".scores", square);
  attributes(block.append(Kind::attention_scores, name + ".scores", {heads.q, heads.k}, {scores}));
  if (how.distances) {
    const Ref biased = block.tensor(name + ".biased_scores", square);
    attributes(block.append(Kind::relative_bias, name + ".relative_bias", {scores, *how.distances},
                            {biased}));
    scores = biased;
  }
  const Ref probabilities = block.tensor(name + ".probabilities", square);
  attributes(block.append(Kind::softmax, name + ".softmax", {scores}, {probabilities}));
  const Ref kept =
      append_dropout(block, attention_dropout(parts.config), name + ".core_dropout", probabilities);
  const Ref o = block.tensor(name + ".context", context_extents(block, heads.q, heads.v));
  attributes(block.append(Kind::attention_context, name + ".context", {kept, heads.v}, {o}));
  return o;
}

[[nodiscard]] Ref append_out(BlockBuilder& block, const TransformerParts& parts,
                             const std::string& name, const Ref& o, const Ref& x) {
  const auto& extents = block.extents(o);
  const Ref weight = block.weight(name + ".weight", {extents[2], extents[3], parts.hidden});
  const auto bias =
      append_bias(block, parts.config.bias || parts.config.out_bias, name, {parts.hidden});
  const Ref y = block.like(name, x);
  block.matmul(name, o, weight, bias, y);
  return y;
}

}  // namespace

Ref append_attention_core(BlockBuilder& block, const TransformerParts& parts, const Ref& q,
                          const Ref& k, const Ref& v) {
  const Heads heads{q, k, v};
  const bool fused = parts.config.attention == AttentionKind::flash && !parts.distances;
  return fused ? append_fused_core(block, parts, heads)
               : append_unfused_core(block, parts, heads,
                                     {"attention", parts.config.causal, parts.distances});
}

Ref append_out_projection(BlockBuilder& block, const TransformerParts& parts, const Ref& o,
                          const Ref& x) {
  return append_out(block, parts, "attention.out", o, x);
}

Ref append_attention(BlockBuilder& block, const TransformerParts& parts, const Ref& x) {
  const Heads heads = append_projections(block, parts, x);
  const Ref normal_q = append_head_norm(block, parts, "attention.q_norm", heads.q);
  const Ref normal_k = append_head_norm(block, parts, "attention.k_norm", heads.k);
  const Ref q = append_rotary(block, parts, "attention.q_rotary", normal_q);
  const Ref k = append_rotary(block, parts, "attention.k_rotary", normal_k);
  return append_out_projection(block, parts, append_attention_core(block, parts, q, k, heads.v), x);
}

Ref append_cross_attention(BlockBuilder& block, const TransformerParts& parts, const Ref& x) {
  const std::string name = "cross_attention";
  const Ref q = append_projection(block, parts, name + ".q", x, query_heads(parts), 0);
  const int fused = block.join();
  const Ref& from = *parts.encoded;
  const Ref k = append_projection(block, parts, name + ".k", from, key_heads(parts), fused);
  const Ref v = append_projection(block, parts, name + ".v", from, key_heads(parts), fused);
  const Ref o = append_unfused_core(block, parts, {q, k, v}, {name, false, std::nullopt});
  return append_out(block, parts, name + ".out", o, x);
}

}  // namespace lockstep
