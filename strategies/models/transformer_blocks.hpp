#pragma once

#include <string>
#include <vector>

#include "strategies/models/block_builder.hpp"

/// The parts of a transformer. Shapes: b sequences of s tokens, h hidden, a heads of size d, g
/// heads of keys and values, F inner dimension, V vocabulary.
namespace lockstep {

/// What one layer has of what layers differ in.
struct LayerKind {
  bool experts = false;   // in place of a plain MLP
  bool windowed = false;  // its queries do not see all keys before them

  friend bool operator==(const LayerKind&, const LayerKind&) = default;
};

struct TransformerParts {
  const TransformerConfig& config;
  Extent batch;
  Extent sequence;
  Extent hidden;
  Boundary residual;
  LayerKind layer{};

  /// Which of the keys before them the layer's queries see.
  [[nodiscard]] VisibleKeys visible() const;
  /// Whether the layer's queries and keys have rotary positions.
  [[nodiscard]] bool rotates() const;
};

/// [x [b, s, n]] -> normalised over n, to `result` if given; weights `name`.gain (and .bias of
/// layer norm) [n].
[[nodiscard]] Ref append_norm(BlockBuilder& block, const TransformerParts& parts,
                              const std::string& name, const Ref& x,
                              const std::optional<Ref>& result = std::nullopt);
/// The model's norm of queries or keys x [b, s, heads, d]; x itself where it has none.
[[nodiscard]] Ref append_head_norm(BlockBuilder& block, const TransformerParts& parts,
                                   const std::string& name, const Ref& x);
/// Dropout of that probability, to `result` if given; x itself where it is 0.
[[nodiscard]] Ref append_dropout(BlockBuilder& block, double dropout, const std::string& name,
                                 const Ref& x, const std::optional<Ref>& result = std::nullopt);
/// A bias [...] for the projection `name`, where it has one.
[[nodiscard]] std::optional<Ref> append_bias(BlockBuilder& block, bool has_bias,
                                             const std::string& name, std::vector<Extent> extents);
/// Multi-head or grouped-query attention with its projections: x [b, s, h] -> [b, s, h].
[[nodiscard]] Ref append_attention(BlockBuilder& block, const TransformerParts& parts,
                                   const Ref& x);
/// softmax(q k^T / sqrt(d)) v, fused or step by step; q [b, s, a, d], k [b, s, g, d], v [b, s, g,
/// d or value_size] -> [b, s, a, the same].
[[nodiscard]] Ref append_attention_core(BlockBuilder& block, const TransformerParts& parts,
                                        const Ref& q, const Ref& k, const Ref& v);
/// The projection of what the heads have found: o [b, s, a, d] -> [b, s, h] like `x`.
[[nodiscard]] Ref append_out_projection(BlockBuilder& block, const TransformerParts& parts,
                                        const Ref& o, const Ref& x);
/// Multi-head latent attention (DeepSeek-AI 2024, arXiv 2405.04434, section 2.1) with its
/// projections: queries, keys and values from compressed vectors, which are normalised; one rotated
/// key that all heads share. x [b, s, h] -> [b, s, h].
[[nodiscard]] Ref append_latent_attention(BlockBuilder& block, const TransformerParts& parts,
                                          const Ref& x);
/// A mixture of E experts of which every token visits k: a router in fp32, slots [E, slot, h] of
/// ceil(b s k / E) tokens each, products with E as a batch dimension; in addition, experts that all
/// tokens visit as one MLP, "shared". x [b, s, h] -> [b, s, h]. With a capacity factor f every
/// expert has its slots full: ceil(b s k / (E p) f) from each of the p ranks that share the tokens.
[[nodiscard]] Ref append_experts(BlockBuilder& block, const TransformerParts& parts, const Ref& x);
/// A plain MLP of inner dimension `ffn`: x [b, s, h] -> [b, s, h].
[[nodiscard]] Ref append_mlp(BlockBuilder& block, const TransformerParts& parts,
                             const std::string& name, std::int64_t ffn, const Ref& x);

/// Tokens -> residual stream; with learned positions a second table, looked up by the input
/// position_ids.
int embedding_block(GraphBuilder& graph, const TransformerParts& parts, Ref& table);
/// Final norm, logits, loss. `table`: the vocabulary's embedding, for tied embeddings.
int head_block(GraphBuilder& graph, const TransformerParts& parts, const Ref& table);
/// Attention and a plain MLP or experts with their norms, added to the stream one after the other
/// or both at once.
int layer_block(GraphBuilder& graph, const TransformerParts& parts);

}  // namespace lockstep
