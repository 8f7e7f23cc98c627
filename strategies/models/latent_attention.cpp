#include "strategies/models/transformer_blocks.hpp"

namespace lockstep {

namespace {

using Kind = OperationKind;

/// y [b, s, to ...] = x w.
Operation& append_projection(BlockBuilder& block, const TransformerParts& parts,
                             const std::string& name, const Ref& x, std::vector<Extent> to,
                             Ref& y) {
  std::vector<Extent> weight{block.extents(x).back()};
  weight.insert(weight.end(), to.begin(), to.end());
  to.insert(to.begin(), {parts.batch, parts.sequence});
  y = block.tensor(name, std::move(to));
  return block.matmul(name, x, block.weight(name + ".weight", std::move(weight)), std::nullopt, y);
}

[[nodiscard]] Ref append_queries(BlockBuilder& block, const TransformerParts& parts, const Ref& x) {
  const LatentAttention& latent = *parts.config.latent;
  Ref from = x;
  if (latent.query_rank > 0) {
    append_projection(block, parts, "attention.q_compressed", x,
                      {{Dim::query_rank, latent.query_rank}}, from);
    from = append_norm(block, parts, "attention.q_norm", from);
  }
  Ref q;
  append_projection(
      block, parts, "attention.q", from,
      {{Dim::heads, parts.config.heads}, {Dim::head_size, latent.key_size + latent.rotary_size}},
      q);
  const Ref rotated = block.like("attention.q_rotary", q);
  block.append(Kind::rotary, "attention.q_rotary", {q}, {rotated});
  return rotated;
}

}  // namespace

Ref append_latent_attention(BlockBuilder& block, const TransformerParts& parts, const Ref& x) {
  const LatentAttention& latent = *parts.config.latent;
  const Extent heads{Dim::kv_heads, parts.config.kv_heads};
  const Ref q = append_queries(block, parts, x);

  // The compressed keys and values, and the key that all heads share, come from one GEMM.
  Ref compressed;
  Ref shared;
  const int down = block.next_fused();
  append_projection(block, parts, "attention.kv_compressed", x, {{Dim::kv_rank, latent.kv_rank}},
                    compressed)
      .fused = down;
  append_projection(block, parts, "attention.k_shared", x, {{Dim::head_size, latent.rotary_size}},
                    shared)
      .fused = down;
  compressed = append_norm(block, parts, "attention.kv_norm", compressed);

  Ref own;
  Ref v;
  const int up = block.next_fused();
  append_projection(block, parts, "attention.k", compressed,
                    {heads, {Dim::head_size, latent.key_size}}, own)
      .fused = up;
  append_projection(block, parts, "attention.v", compressed,
                    {heads, {Dim::value_size, latent.value_size}}, v)
      .fused = up;
  const Ref k =
      block.tensor("attention.k_rotary",
                   {parts.batch, parts.sequence, heads, {Dim::head_size, parts.config.head_size}});
  block.append(Kind::rotary, "attention.k_rotary", {own, shared}, {k});
  return append_out_projection(block, parts, append_attention_core(block, parts, q, k, v), x);
}

}  // namespace lockstep
