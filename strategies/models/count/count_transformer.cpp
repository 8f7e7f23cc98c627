#include <algorithm>

#include "sim/program/visible_keys.hpp"
#include "strategies/models/count/count_parts.hpp"

namespace lockstep {

namespace {

/// Elements of one layer's projections of attention that is compressed.
std::int64_t latent_attention_of(const TransformerConfig& c) {
  const LatentAttention& l = *c.latent;
  const std::int64_t query = c.heads * (l.key_size + l.rotary_size);
  const std::int64_t queries =
      l.query_rank > 0 ? c.hidden * l.query_rank + l.query_rank * query : c.hidden * query;
  return queries + c.hidden * (l.kv_rank + l.rotary_size) +
         l.kv_rank * c.heads * (l.key_size + l.value_size) +
         matrix(c.heads * l.value_size, c.hidden, c.bias || c.out_bias);
}

/// Elements of one layer's projections of attention and of its sinks.
std::int64_t attention_of(const TransformerConfig& c) {
  if (c.latent) return latent_attention_of(c);
  return matrix(c.hidden, (c.heads + 2 * c.kv_heads) * c.head_size, c.bias || c.qkv_bias) +
         matrix(c.heads * c.head_size, c.hidden, c.bias || c.out_bias) + (c.sinks ? c.heads : 0);
}

std::int64_t mlp_of(const TransformerConfig& c, std::int64_t ffn) {
  const bool bias = has_mlp_bias(c);
  return (c.gated ? 2 : 1) * matrix(c.hidden, ffn, bias) + matrix(ffn, c.hidden, bias);
}

/// Elements per normalized unit: gain, and bias of layer norm.
std::int64_t norm_of(const TransformerConfig& c, std::int64_t width) {
  if (!c.norm_gain) return 0;
  return c.norm == Normalization::layer && c.norm_bias ? 2 * width : width;
}

/// Norms of the residual stream or of what is added to it, in one layer.
std::int64_t stream_norms(const TransformerConfig& c) {
  if (c.residual == Residual::parallel) return 1;
  return c.norm_place == NormPlace::around ? 4 : 2;
}

/// Gains of the norms of queries and keys.
std::int64_t head_norms(const TransformerConfig& c) {
  if (c.qk_norm == QueryKeyNorm::none) return 0;
  if (c.qk_norm == QueryKeyNorm::shared) return 2 * c.head_size;
  return (c.heads + c.kv_heads) * c.head_size;
}

std::int64_t norms_of_layer(const TransformerConfig& c) {
  const std::int64_t latent =
      c.latent ? norm_of(c, c.latent->query_rank) + norm_of(c, c.latent->kv_rank) : head_norms(c);
  return stream_norms(c) * norm_of(c, c.hidden) + latent;
}

std::int64_t patch_embedding_of(const TransformerConfig& c) {
  return matrix(c.image->patch_values(), c.hidden, true);
}

/// Values that a diffusion transformer predicts for a patch.
std::int64_t predicted_of(const TransformerConfig& c) {
  return c.diffusion->predictions() * c.image->patch_values();
}

/// Matrices that a vector of conditions passes: an MLP of timesteps, six vectors of every layer
/// (adaLN-Zero) and two of the head.
std::int64_t modulation_matrices(const TransformerConfig& c, bool bias) {
  return matrix(c.diffusion->frequencies, c.hidden, bias) + matrix(c.hidden, c.hidden, bias) +
         matrix(c.hidden, (6 * c.layers + 2) * c.hidden, bias);
}

std::int64_t embedding_of(const TransformerConfig& c) {
  if (c.diffusion) return patch_embedding_of(c) + matrix(c.hidden, predicted_of(c), true);
  if (c.image) {
    return patch_embedding_of(c) + (c.image->class_token ? c.hidden : 0) +
           position_rows(c) * c.hidden + matrix(c.hidden, c.vocabulary, c.head_bias);
  }
  const bool own_table = c.output_layer && !c.tied_embeddings;
  std::int64_t out = c.vocabulary * c.hidden * (own_table ? 2 : 1);
  if (c.positions == Positions::learned) out += position_rows(c) * c.hidden;
  return out + (c.head_bias ? c.vocabulary : 0);
}

void add_experts(const TransformerConfig& c, ParameterCount& out) {
  const ExpertsConfig& e = *c.experts;
  out.router += matrix(c.hidden, e.experts, c.router_bias);
  out.experts += e.experts * mlp_of(c, e.ffn);
  out.active_experts += e.top_k * mlp_of(c, e.ffn);
  if (e.shared > 0) out.mlp += mlp_of(c, e.shared * e.shared_ffn);
}

std::int64_t sequences_of(const TransformerConfig& c, const FlopConvention& convention) {
  constexpr std::int64_t kDrawn = 1024;
  if (convention.sequences > 0) return convention.sequences;
  return c.packed.drawn ? kDrawn : std::max<std::int64_t>(1, std::ssize(c.packed.lists));
}

/// q k^T and the weighted sum of values, of all heads of one layer.
double attention_flops(const TransformerConfig& c, const FlopConvention& convention,
                       bool windowed) {
  const bool causal = convention.causal && c.causal;
  const std::int64_t keys = c.latent ? c.latent->key_size + c.latent->rotary_size : c.head_size;
  const std::int64_t values = c.latent ? c.latent->value_size : c.head_size;
  VisibleKeys visible;
  if (windowed) visible = {.window = c.window->size, .chunked = c.window->chunked};
  if (has_documents(c)) visible.documents = c.documents;
  if (has_documents(c)) visible.packed = c.packed;
  const bool all = !causal && !visible.limits(c.sequence);
  const double pairs = all ? elements(c.sequence, c.sequence)
                           : mean_pairs(visible, c.sequence, sequences_of(c, convention));
  return 2 * pairs * elements(c.heads, keys + values);
}

/// Of an image whose layers take `layers` FLOPs.
FlopCount diffusion_flops(const TransformerConfig& c, double layers) {
  const double patches = gemm(c.sequence, elements(c.image->patch_values(), c.hidden));
  const double timestep = gemm(1, elements(c.diffusion->frequencies, c.hidden));
  const double head = gemm(c.sequence, elements(c.hidden, predicted_of(c)));
  const auto modulation = static_cast<double>(modulation_matrices(c, false));
  return {.forward = patches + layers + gemm(1, modulation) + head,
          .with_data = patches + timestep};
}

/// The layer of the model that layer `index` is like: the last one behind it.
std::int64_t like(const TransformerConfig& c, std::int64_t index) {
  return std::min(index, c.layers - 1);
}

/// Of multi-token prediction in addition to its layers: projections of two streams, and norms
/// before and behind.
void add_prediction(const TransformerConfig& c, ParameterCount& out) {
  if (!c.mtp) return;
  out.mlp += c.mtp->layers * 2 * c.hidden * c.hidden;
  out.norms += c.mtp->layers * 3 * norm_of(c, c.hidden);
}

double attention_flops(const TransformerConfig& c, const FlopConvention& convention) {
  std::int64_t windowed = 0;
  const std::int64_t layers = all_layers(c);
  for (std::int64_t i = 0; i < layers; ++i) windowed += is_windowed(c, like(c, i)) ? 1 : 0;
  double out = static_cast<double>(layers - windowed) * attention_flops(c, convention, false);
  if (windowed > 0) out += static_cast<double>(windowed) * attention_flops(c, convention, true);
  return out;
}

/// One stack alone, without tables.
TransformerConfig encoder_of(TransformerConfig c) {
  c.layers = c.encoder->layers;
  c.sequence = c.encoder->sequence;
  c.causal = false;
  c.encoder.reset();
  return c;
}
TransformerConfig decoder_of(TransformerConfig c) {
  c.encoder.reset();
  return c;
}

/// Of a decoder's layers in addition: attention to the encoder's result and its norm. Of both
/// stacks: a table of distances.
ParameterCount count_encoder_decoder(const TransformerConfig& c) {
  const ParameterCount encoder = count_transformer(encoder_of(c));
  ParameterCount out = count_transformer(decoder_of(c));
  out.attention += encoder.attention + c.layers * attention_of(c);
  out.attention += 2 * c.encoder->buckets * c.heads;
  out.mlp += encoder.mlp;
  out.norms += encoder.norms + c.layers * norm_of(c, c.hidden);
  return out;
}

/// Keys and values of the input are projected in every layer of the decoder.
FlopCount encoder_decoder_flops(const TransformerConfig& c, const FlopConvention& convention) {
  FlopConvention bare = convention;
  bare.vocabulary = false;
  const double encoder = transformer_flops(encoder_of(c), bare).forward;
  const double decoder = transformer_flops(decoder_of(c), convention).forward;
  const double one = elements(c.hidden, c.heads * c.head_size);
  const double cross =
      gemm(c.sequence, 2 * one) + gemm(c.encoder->sequence, 2 * one) +
      2 * elements(c.sequence, c.encoder->sequence) * elements(c.heads, 2 * c.head_size);
  return {.forward = encoder + decoder + static_cast<double>(c.layers) * cross,
          .tokens = all_tokens(c)};
}

}  // namespace

ParameterCount count_transformer(const TransformerConfig& c) {
  if (c.encoder) return count_encoder_decoder(c);
  ParameterCount out;
  out.embedding = embedding_of(c);
  const std::int64_t layers = all_layers(c);
  out.attention = layers * attention_of(c);
  out.norms = layers * norms_of_layer(c) + (c.embedding_norm ? 2 : 1) * norm_of(c, c.hidden);
  for (std::int64_t i = 0; i < layers; ++i) {
    if (has_experts(c, like(c, i))) {
      add_experts(c, out);
    } else {
      out.mlp += mlp_of(c, c.ffn);
    }
  }
  add_prediction(c, out);
  if (c.diffusion) {
    out.modulation = modulation_matrices(c, true) + (c.vocabulary + 1) * c.hidden;
    out.fixed = c.sequence * c.hidden;
  }
  return out;
}

FlopCount transformer_flops(TransformerConfig c, const FlopConvention& convention) {
  if (c.encoder) return encoder_decoder_flops(c, convention);
  const double attention = attention_flops(c, convention);
  // Neither additions of biases count nor what sinks add.
  c.bias = c.qkv_bias = c.out_bias = c.mlp_bias = c.router_bias = c.sinks = false;
  const ParameterCount parts = count_transformer(c);
  const auto met = static_cast<double>(parts.attention + parts.mlp + parts.router) +
                   convention.admitted * static_cast<double>(parts.active_experts);
  double sum = gemm(c.sequence, met) + attention;
  if (c.diffusion) return diffusion_flops(c, sum);
  if (c.image) {
    const double patches = gemm(c.image->patches(), elements(c.image->patch_values(), c.hidden));
    if (convention.vocabulary) sum += gemm(1, elements(c.hidden, c.vocabulary));
    return {.forward = patches + sum, .with_data = patches};
  }
  if (convention.vocabulary && c.output_layer) {
    const auto predictions = static_cast<double>(1 + (c.mtp ? c.mtp->layers : 0));
    sum += predictions * gemm(c.sequence, elements(c.hidden, c.vocabulary));
  }
  return {.forward = sum, .tokens = c.sequence};
}

}  // namespace lockstep
