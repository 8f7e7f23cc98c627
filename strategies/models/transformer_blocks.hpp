#pragma once

#include <string>
#include <vector>

#include "strategies/models/block_builder.hpp"

/// Parts of a transformer. Shapes: b sequences of s tokens, hidden size h, a heads of size d, g KV
/// heads, inner dimension F, vocabulary V.
namespace lockstep {

/// Properties that vary between layers.
struct LayerKind {
  bool experts = false;   // instead of a plain MLP
  bool windowed = false;  // windowed attention
  bool wide = false;      // GEMMs as the activations, where others are narrow

  friend bool operator==(const LayerKind&, const LayerKind&) = default;
};

struct TransformerParts {
  const TransformerConfig& config;
  Extent batch;
  Extent sequence;
  Extent hidden;
  Boundary residual;
  LayerKind layer{};
  std::string stack{};             // what begins the names of layers: "encoder_"
  std::optional<Ref> distances{};  // the table of relative positions of self-attention
  std::optional<Ref> encoded{};  // the encoder's result [b, s', h], to which layers attend as well
  std::optional<Ref> condition{};  // of a diffusion transformer [b, h], all of whose layers read it

  /// The keys visible to the layer's queries.
  [[nodiscard]] VisibleKeys visible() const;
  /// Whether the layer's queries and keys have rotary positions.
  [[nodiscard]] bool rotates() const;
};

/// Norm of x [b, s, n] over n, written to `result` if given; weights `name`.gain [n], with layer
/// norm also `name`.bias [n], as far as the model's norms have them.
[[nodiscard]] Ref append_norm(BlockBuilder& block, const TransformerParts& parts,
                              const std::string& name, const Ref& x,
                              const std::optional<Ref>& result = std::nullopt);
/// The model's norm of queries or keys x [b, s, heads, d]; x itself if it has none.
[[nodiscard]] Ref append_head_norm(BlockBuilder& block, const TransformerParts& parts,
                                   const std::string& name, const Ref& x);
/// Dropout, written to `result` if given; x itself if the probability is 0.
[[nodiscard]] Ref append_dropout(BlockBuilder& block, double dropout, const std::string& name,
                                 const Ref& x, const std::optional<Ref>& result = std::nullopt);
/// A bias [...] for the projection `name`; none without `has_bias`.
[[nodiscard]] std::optional<Ref> append_bias(BlockBuilder& block, bool has_bias,
                                             const std::string& name, std::vector<Extent> extents);
/// Multi-head or grouped-query attention with its projections: x [b, s, h] -> [b, s, h].
[[nodiscard]] Ref append_attention(BlockBuilder& block, const TransformerParts& parts,
                                   const Ref& x);
/// The same with keys and values of the encoder's result.
[[nodiscard]] Ref append_cross_attention(BlockBuilder& block, const TransformerParts& parts,
                                         const Ref& x);
/// softmax(q k^T / sqrt(d)) v, fused or unfused; q [b, s, a, d], k [b, s, g, d], v [b, s, g, d or
/// value_size] -> [b, s, a, the same].
[[nodiscard]] Ref append_attention_core(BlockBuilder& block, const TransformerParts& parts,
                                        const Ref& q, const Ref& k, const Ref& v);
/// The output projection of attention: o [b, s, a, d] -> [b, s, h] like `x`.
[[nodiscard]] Ref append_out_projection(BlockBuilder& block, const TransformerParts& parts,
                                        const Ref& o, const Ref& x);
/// Multi-head latent attention (DeepSeek-AI 2024, arXiv 2405.04434, section 2.1) with its
/// projections: queries, keys and values from normalized latent vectors, and one rotary key shared
/// by all heads. x [b, s, h] -> [b, s, h].
[[nodiscard]] Ref append_latent_attention(BlockBuilder& block, const TransformerParts& parts,
                                          const Ref& x);
/// A mixture of E experts with top-k routing: a router in fp32, slots [E, slot, h] of ceil(b s k /
/// E) tokens each, GEMMs with batch dimension E, and shared experts as one MLP, "shared". x [b, s,
/// h] -> [b, s, h]. With capacity factor f all slots are full: ceil(b s k / (E p) f) from each of
/// the p ranks that share the tokens.
[[nodiscard]] Ref append_experts(BlockBuilder& block, const TransformerParts& parts, const Ref& x);
/// A plain MLP with inner dimension `ffn`: x [b, s, h] -> [b, s, h].
[[nodiscard]] Ref append_mlp(BlockBuilder& block, const TransformerParts& parts,
                             const std::string& name, std::int64_t ffn, const Ref& x);

/// Tokens to residual stream; learned positions are a second table, read with the input
/// position_ids.
int embedding_block(GraphBuilder& graph, const TransformerParts& parts, Ref& table);
/// Final norm, logits, loss, and the modules of multi-token prediction with theirs, whose layers
/// are of the kind of `parts`. `table`: the embedding table, for tied embeddings and these modules.
int head_block(GraphBuilder& graph, const TransformerParts& parts, const Ref& table);
/// Of vision transformers: patches to residual stream, a class token before them; final norm,
/// pooling, logits and loss of every image.
int patch_block(GraphBuilder& graph, const TransformerParts& parts);
int image_head_block(GraphBuilder& graph, const TransformerParts& parts);
/// Patches of an image, each embedded by one GEMM: [b, patches, h].
[[nodiscard]] Ref append_patches(BlockBuilder& block, const TransformerParts& parts);
/// Of diffusion transformers: latents to residual stream, and the vector of conditions that all
/// later blocks read; modulated norm, predictions and their mean squared error.
int latent_block(GraphBuilder& graph, const TransformerParts& parts);
int noise_head_block(GraphBuilder& graph, const TransformerParts& parts);
/// A layer whose norms are scaled and shifted and whose branches are gated by what follows from
/// `condition` (adaLN-Zero; Peebles and Xie 2023, arXiv 2212.09748, figure 3): x [b, s, h] -> y.
void append_conditioned_layer(BlockBuilder& block, const TransformerParts& parts, const Ref& x,
                              const Ref& y);
/// Rows of the learned table of positions [b, s, h].
[[nodiscard]] Ref append_positions(BlockBuilder& block, const TransformerParts& parts);
/// Attention and a plain MLP or experts with norms and residual connections, sequential or
/// parallel: x [b, s, h] -> y.
void append_layer(BlockBuilder& block, const TransformerParts& parts, const Ref& x, const Ref& y);
/// A block of one layer.
int layer_block(GraphBuilder& graph, const TransformerParts& parts);
/// The same of the first layer of a stack, which has its table of relative positions.
int first_layer_block(GraphBuilder& graph, TransformerParts parts, Ref& distances);

}  // namespace lockstep
