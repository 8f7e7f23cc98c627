#include <fmt/format.h>

#include "strategies/models/count/count_parts.hpp"

namespace lockstep {

namespace {

ParameterCount count(const TransformerConfig& c) {
  return count_transformer(c);
}

FlopCount flops(const TransformerConfig& c, const FlopConvention& convention) {
  return transformer_flops(c, convention);
}

ParameterCount count(const MlpConfig& c) {
  return {.mlp = c.layers * (matrix(c.hidden, c.ffn, c.bias) + matrix(c.ffn, c.hidden, c.bias))};
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

FlopCount flops(const MlpConfig& c, const FlopConvention&) {
  const double one = gemm(1, elements(c.hidden, c.ffn));
  return {.forward = 2 * static_cast<double>(c.layers) * one, .with_data = one};
}

FlopCount flops(const ResNetConfig& c, const FlopConvention& convention) {
  FlopCount out;
  for_each_convolution(
      c, [&](std::int64_t window, std::int64_t in, std::int64_t channels, std::int64_t side) {
        const double one = gemm(c.frames * side * side, elements(window * window * in, channels));
        if (out.forward == 0) out.with_data = one;
        out.forward += one;
      });
  if (convention.vocabulary) out.forward += gemm(1, elements(features(c), c.classes));
  return out;
}

bool has_several_documents(const ModelConfig& model) {
  const TransformerConfig* shape = model.transformer();
  return shape != nullptr && has_documents(*shape);
}

bool has_short_windows(const ModelConfig& model) {
  const TransformerConfig* shape = model.transformer();
  return shape != nullptr && shape->window && shape->window->size < shape->sequence;
}

}  // namespace

ParameterCount count_parameters(const ModelConfig& model) {
  return std::visit([](const auto& shape) { return count(shape); }, model.shape);
}

std::string FlopConvention::words() const {
  std::string out = "model FLOPs of matrix multiplications (2 per multiply-add), ";
  out += causal ? "causal attention halved, " : "attention over the full square, ";
  if (windows) out += "keys outside of windows excluded, ";
  if (documents) out += "keys of other documents excluded, ";
  if (admitted < 1)
    out += fmt::format("of experts the {:.3g} % that their capacity admits, ", 100 * admitted);
  out += vocabulary ? "logits included, " : "logits excluded, ";
  return out + "backward = 2x forward, input-data gradient and recomputation excluded";
}

FlopCount count_flops(const ModelConfig& model, const FlopConvention& convention) {
  FlopCount out =
      std::visit([&](const auto& shape) { return flops(shape, convention); }, model.shape);
  out.convention = convention;
  out.convention.windows = has_short_windows(model);
  out.convention.documents = has_several_documents(model);
  return out;
}

double six_n_d(double parameters, double tokens) {
  return 6 * parameters * tokens;
}

std::string sample_name(const ModelConfig& model) {
  if (model.transformer() != nullptr) return model.reads_text() ? "sequence" : "image";
  const auto* resnet = std::get_if<ResNetConfig>(&model.shape);
  if (resnet == nullptr) return "sample";
  return resnet->frames > 1 ? "clip" : "image";
}

}  // namespace lockstep
