#include "strategies/models/count.hpp"

namespace lockstep {

namespace {

/// Elements of matrices with their biases, added up.
class Sum {
 public:
  explicit Sum(bool bias) : bias_{bias} {}
  void matrix(std::int64_t in, std::int64_t out) { total_ += in * out + (bias_ ? out : 0); }
  [[nodiscard]] std::int64_t total() const { return total_; }

 private:
  bool bias_;
  std::int64_t total_ = 0;
};

/// Elements of one layer's projections of attention.
std::int64_t attention_of(const TransformerConfig& c) {
  if (c.latent) {
    const LatentAttention& l = *c.latent;
    const std::int64_t query = c.heads * (l.key_size + l.rotary_size);
    Sum sum{false};
    if (l.query_rank > 0) sum.matrix(c.hidden, l.query_rank);
    sum.matrix(l.query_rank > 0 ? l.query_rank : c.hidden, query);
    sum.matrix(c.hidden, l.kv_rank + l.rotary_size);
    sum.matrix(l.kv_rank, c.heads * (l.key_size + l.value_size));
    Sum out{c.bias};
    out.matrix(c.heads * l.value_size, c.hidden);
    return sum.total() + out.total();
  }
  Sum in{c.bias || c.qkv_bias};
  in.matrix(c.hidden, (c.heads + 2 * c.kv_heads) * c.head_size);
  Sum out{c.bias};
  out.matrix(c.heads * c.head_size, c.hidden);
  return in.total() + out.total();
}

std::int64_t mlp_of(const TransformerConfig& c, std::int64_t ffn) {
  Sum sum{c.bias};
  sum.matrix(c.hidden, ffn);
  if (c.gated) sum.matrix(c.hidden, ffn);
  sum.matrix(ffn, c.hidden);
  return sum.total();
}

/// Elements per normalised unit: gain, and bias of layer norm.
std::int64_t norm_of(const TransformerConfig& c, std::int64_t width) {
  return c.norm == Normalisation::layer ? 2 * width : width;
}

std::int64_t norms_of_layer(const TransformerConfig& c) {
  const std::int64_t latent =
      c.latent ? norm_of(c, c.latent->query_rank) + norm_of(c, c.latent->kv_rank) : 0;
  return 2 * norm_of(c, c.hidden) + latent;
}

ParameterCount count(const TransformerConfig& c) {
  ParameterCount out;
  out.embedding = c.vocabulary * c.hidden * (c.tied_embeddings ? 1 : 2);
  if (c.positions == Positions::learned) out.embedding += c.sequence * c.hidden;
  out.attention = c.layers * attention_of(c);
  out.norms = c.layers * norms_of_layer(c) + norm_of(c, c.hidden);
  for (std::int64_t i = 0; i < c.layers; ++i) {
    if (!has_experts(c, i)) {
      out.mlp += mlp_of(c, c.ffn);
      continue;
    }
    const ExpertsConfig& e = *c.experts;
    out.router += c.hidden * e.experts;
    out.experts += e.experts * mlp_of(c, e.ffn);
    out.active_experts += e.top_k * mlp_of(c, e.ffn);
    if (e.shared > 0) out.mlp += mlp_of(c, e.shared * e.shared_ffn);
  }
  return out;
}

ParameterCount count(const MlpConfig& c) {
  Sum sum{c.bias};
  sum.matrix(c.hidden, c.ffn);
  sum.matrix(c.ffn, c.hidden);
  return {.mlp = c.layers * sum.total()};
}

/// Calls each(window, in, out, side out) for every convolution of a ResNet.
template <class Each>
void for_each_convolution(const ResNetConfig& c, Each&& each) {
  const auto half = [](std::int64_t side) { return (side + 1) / 2; };
  std::int64_t side = half(c.image);
  each(7, 3, c.width, side);
  side = half(side);
  std::int64_t in = c.width;
  std::int64_t width = c.width;
  for (std::size_t stage = 0; stage < c.stages.size(); ++stage, width *= 2) {
    for (std::int64_t i = 0; i < c.stages[stage]; ++i) {
      const bool shrinks = i == 0 && stage > 0;
      each(1, in, width, side);
      if (shrinks) side = half(side);
      each(3, width, width, side);
      each(1, width, 4 * width, side);
      if (i == 0) each(1, in, 4 * width, side);
      in = 4 * width;
    }
  }
}

std::int64_t features(const ResNetConfig& c) {
  return 4 * (c.width << (c.stages.size() - 1));
}

ParameterCount count(const ResNetConfig& c) {
  ParameterCount out;
  for_each_convolution(
      c, [&](std::int64_t window, std::int64_t in, std::int64_t channels, std::int64_t) {
        out.convolutions += window * window * in * channels;
        out.norms += 2 * channels;
      });
  out.mlp = (features(c) + 1) * c.classes;
  return out;
}

/// Two per multiply and add.
double product(std::int64_t rows, double elements) {
  return 2.0 * static_cast<double>(rows) * elements;
}

double elements(std::int64_t in, std::int64_t out) {
  return static_cast<double>(in) * static_cast<double>(out);
}

/// q k^T and the weighted sum of values, of all heads of one layer.
double attention_flops(const TransformerConfig& c, bool half) {
  const std::int64_t keys = c.latent ? c.latent->key_size + c.latent->rotary_size : c.head_size;
  const std::int64_t values = c.latent ? c.latent->value_size : c.head_size;
  const double square = elements(c.sequence, c.sequence) * (half ? 0.5 : 1);
  return 2 * square * elements(c.heads, keys + values);
}

FlopCount flops(TransformerConfig c, const FlopConvention& convention) {
  const double attention = attention_flops(c, convention.causal && c.causal);
  c.bias = false;  // additions of biases do not count
  c.qkv_bias = false;
  const ParameterCount parts = count(c);
  const auto met =
      static_cast<double>(parts.attention + parts.mlp + parts.router + parts.active_experts);
  double sum = product(c.sequence, met) + static_cast<double>(c.layers) * attention;
  if (convention.vocabulary) sum += product(c.sequence, elements(c.hidden, c.vocabulary));
  return {.forward = sum, .tokens = c.sequence};
}

FlopCount flops(const MlpConfig& c, const FlopConvention&) {
  const double one = product(1, elements(c.hidden, c.ffn));
  return {.forward = 2 * static_cast<double>(c.layers) * one, .with_data = one};
}

FlopCount flops(const ResNetConfig& c, const FlopConvention& convention) {
  FlopCount out;
  for_each_convolution(c, [&](std::int64_t window, std::int64_t in, std::int64_t channels,
                              std::int64_t side) {
    const double one = product(c.frames * side * side, elements(window * window * in, channels));
    if (out.forward == 0) out.with_data = one;
    out.forward += one;
  });
  if (convention.vocabulary) out.forward += product(1, elements(features(c), c.classes));
  return out;
}

}  // namespace

ParameterCount count_parameters(const ModelConfig& model) {
  return std::visit([](const auto& shape) { return count(shape); }, model.shape);
}

std::string FlopConvention::words() const {
  std::string out = "model FLOPs: products, two per multiply and add; ";
  out += causal ? "causal attention counted as half of the square; "
                : "attention counted as the whole square; ";
  out += vocabulary ? "logits included; " : "logits left out; ";
  return out + "backward twice forward, no gradient of the data; nothing recomputed counts";
}

FlopCount count_flops(const ModelConfig& model, const FlopConvention& convention) {
  FlopCount out =
      std::visit([&](const auto& shape) { return flops(shape, convention); }, model.shape);
  out.convention = convention;
  return out;
}

double six_n_d(double parameters, double tokens) {
  return 6 * parameters * tokens;
}

std::string sample_name(const ModelConfig& model) {
  if (model.transformer() != nullptr) return "sequence";
  const auto* resnet = std::get_if<ResNetConfig>(&model.shape);
  if (resnet == nullptr) return "sample";
  return resnet->frames > 1 ? "clip" : "image";
}

}  // namespace lockstep
