#include <array>
#include <string>
#include <utility>
#include <vector>

#include "strategies/models/loss.hpp"
#include "strategies/models/transformer_blocks.hpp"

namespace lockstep {

namespace {

using Kind = OperationKind;

[[nodiscard]] Extent condition_of(const TransformerParts& parts) {
  return {Dim::condition, parts.config.hidden};
}

[[nodiscard]] Ref append_silu(BlockBuilder& block, const std::string& name, const Ref& x) {
  const Ref y = block.like(name, x);
  block.append(Kind::activation, name, {x}, {y}).function = ActivationFunction::silu;
  return y;
}

/// y = x w + bias of one row per image.
[[nodiscard]] Ref append_row_gemm(BlockBuilder& block, const TransformerParts& parts,
                                  const std::string& name, const Ref& x, const Extent& to,
                                  int fused = 0) {
  const Ref weight = block.weight(name + ".weight", {block.extents(x).back(), to});
  const Ref bias = block.weight(name + ".bias", {to});
  const Ref y = block.tensor(name, {parts.batch, to});
  block.matmul(name, x, weight, bias, y, block.options().wide_math()).fused = fused;
  return y;
}

/// What follows from the conditions: one GEMM of SiLU of them, whose result is taken apart.
template <std::size_t kCount>
[[nodiscard]] std::array<Ref, kCount> append_modulation(
    BlockBuilder& block, const TransformerParts& parts,
    const std::array<std::string, kCount>& names) {
  const Ref active = append_silu(block, "modulation.activation", *parts.condition);
  const int fused = block.next_fused();
  std::array<Ref, kCount> out;
  for (std::size_t i = 0; i < kCount; ++i)
    out[i] = append_row_gemm(block, parts, names[i], active, parts.hidden, fused);
  return out;
}

/// norm(x) (1 + scale) + shift.
[[nodiscard]] Ref append_modulated_norm(BlockBuilder& block, const TransformerParts& parts,
                                        const std::string& name, const Ref& x, const Ref& scale,
                                        const Ref& shift) {
  const Ref normal = append_norm(block, parts, name + ".norm", x);
  const Ref y = block.like(name + ".modulated", x);
  block.append(Kind::modulate, name + ".modulate", {normal, scale, shift}, {y});
  return y;
}

/// y = x + gate times branch.
void append_gated_sum(BlockBuilder& block, const std::string& name, const Ref& branch,
                      const Ref& gate, const Ref& x, const Ref& y) {
  const Ref gated = block.like(name + ".gated", x);
  block.append(Kind::modulate, name + ".gating", {branch, gate}, {gated});
  block.append(Kind::add, name + ".add", {gated, x}, {y});
}

/// Sines and cosines of all positions, the same for every image and never trained.
[[nodiscard]] Ref append_fixed_positions(BlockBuilder& block, const TransformerParts& parts) {
  GraphBuilder& graph = block.graph();
  const Extent rows{Dim::positions, parts.config.sequence};
  const TensorId table =
      graph.input("position_table", {rows, parts.hidden}, block.options().activations);
  graph.graph.tensors[table].scope = Scope::step;
  const TensorId ids = graph.input("position_ids", {parts.batch, parts.sequence}, Dtype::int32);
  const Ref y = block.tensor("position_embedding", {parts.batch, parts.sequence, parts.hidden});
  block.append(Kind::embedding, "position_embedding", {{.tensor = ids}, {.tensor = table}}, {y});
  return y;
}

/// MLP of the timestep's frequencies plus the label's row, one of which is of no label.
[[nodiscard]] Ref append_condition(BlockBuilder& block, const TransformerParts& parts) {
  GraphBuilder& graph = block.graph();
  const Extent condition = condition_of(parts);
  const TensorId frequencies =
      graph.input("timesteps", {parts.batch, {Dim::channels, parts.config.diffusion->frequencies}},
                  block.options().activations);
  const TensorId labels = graph.input("labels", {parts.batch}, Dtype::int32);
  const Ref up =
      append_row_gemm(block, parts, "timestep.up", {.tensor = frequencies}, parts.hidden);
  const Ref active = append_silu(block, "timestep.activation", up);
  const Ref timestep = append_row_gemm(block, parts, "timestep.down", active, condition);
  const Ref table = block.weight("label_embedding.weight",
                                 {{Dim::label, parts.config.vocabulary + 1}, condition});
  const Ref label = block.tensor("label_embedding", {parts.batch, condition});
  block.append(Kind::embedding, "label_embedding", {{.tensor = labels}, table}, {label});
  const Ref y = block.tensor("condition", {parts.batch, condition});
  block.append(Kind::add, "condition.add", {timestep, label}, {y});
  return y;
}

}  // namespace

int latent_block(GraphBuilder& graph, const TransformerParts& parts) {
  BlockBuilder block{graph, "embedding", std::nullopt, parts.residual};
  const Ref patches = append_patches(block, parts);
  const Ref positions = append_fixed_positions(block, parts);
  block.append(Kind::add, "embedding.add", {patches, positions}, {block.output()});
  graph.share(append_condition(block, parts).tensor, static_cast<int>(graph.graph.chain.size()));
  return block.finish();
}

void append_conditioned_layer(BlockBuilder& block, const TransformerParts& parts, const Ref& x,
                              const Ref& y) {
  const auto [shift, scale, gate, mlp_shift, mlp_scale, mlp_gate] = append_modulation<6>(
      block, parts,
      {"modulation.attention_shift", "modulation.attention_scale", "modulation.attention_gate",
       "modulation.mlp_shift", "modulation.mlp_scale", "modulation.mlp_gate"});
  const Ref middle = block.like("residual.middle", x);
  const Ref from = append_modulated_norm(block, parts, "attention", x, scale, shift);
  append_gated_sum(block, "attention", append_attention(block, parts, from), gate, x, middle);
  const Ref before = append_modulated_norm(block, parts, "mlp", middle, mlp_scale, mlp_shift);
  append_gated_sum(block, "mlp", append_mlp(block, parts, "mlp", parts.config.ffn, before),
                   mlp_gate, middle, y);
}

int noise_head_block(GraphBuilder& graph, const TransformerParts& parts) {
  const Extent predicted{
      Dim::channels, parts.config.diffusion->predictions() * parts.config.image->patch_values()};
  const TensorId target =
      graph.input("noise", {parts.batch, parts.sequence, predicted}, graph.options.activations);
  BlockBuilder block{graph, "head", parts.residual, std::nullopt};
  const auto [shift, scale] =
      append_modulation<2>(block, parts, {"modulation.shift", "modulation.scale"});
  const Ref x = append_modulated_norm(block, parts, "head", block.input(), scale, shift);
  const Ref weight = block.weight("head.weight", {parts.hidden, predicted});
  const Ref bias = block.weight("head.bias", {predicted});
  const Ref y = block.tensor("predictions", {parts.batch, parts.sequence, predicted});
  block.matmul("predictions", x, weight, bias, y, block.options().output_math());
  append_squared_error(block, y, target);
  return block.finish();
}

}  // namespace lockstep
