#include <numeric>

#include "strategies/models/count/layers.hpp"
#include "strategies/verification/shrink/shrink_parts.hpp"

namespace lockstep::shrinking {

namespace {

[[nodiscard]] std::int64_t sum(const std::vector<std::int64_t>& of) {
  return std::accumulate(of.begin(), of.end(), std::int64_t{0});
}

void shrink_mlp(MlpConfig& model, const SizedLayout& whole, const SizedLayout& small,
                const ShrinkLimits& limits) {
  const MlpConfig was = model;
  const std::int64_t tp = small.parallel.tp;
  if (!stays(limits, "model.hidden")) model.hidden = std::min<std::int64_t>(was.hidden, 8);
  if (!stays(limits, "model.ffn")) model.ffn = multiple(tp, 12, was.ffn);
  if (!stays(limits, "model.layers")) {
    model.layers = fewer_layers(was.layers, whole.parallel, small.parallel, 1);
  }
}

/// Two stages with this many blocks, one repeated if any was; otherwise one block each.
[[nodiscard]] std::vector<std::int64_t> fewer_blocks(const std::vector<std::int64_t>& was,
                                                     std::int64_t blocks) {
  const bool repeats = *std::max_element(was.begin(), was.end()) > 1;
  if (!repeats) return std::vector<std::int64_t>(static_cast<std::size_t>(blocks), 1);
  if (was.size() == 1) return {blocks};
  return {blocks / 2, blocks - blocks / 2};
}

void shrink_resnet(ResNetConfig& model, const SizedLayout& whole, const SizedLayout& small,
                   const ShrinkLimits& limits) {
  if (!stays(limits, "model.stages")) {
    const std::int64_t blocks = fewer_layers(sum(model.stages), whole.parallel, small.parallel, 3);
    model.stages = fewer_blocks(model.stages, blocks);
  }
  const auto set = [&](const char* key, std::int64_t& size, std::int64_t to) {
    if (!stays(limits, std::string{"model."} + key)) size = std::min(size, to);
  };
  set("width", model.width, 2);
  set("image", model.image, 12);
  set("classes", model.classes, 5);
  set("frames", model.frames, 3);
}

/// A ResNet's stages are of as many blocks as those of the pipeline together.
void fit_blocks(ResNetConfig& model, const ShrinkLimits& limits, std::int64_t blocks) {
  if (!stays(limits, "model.stages")) model.stages = fewer_blocks(model.stages, blocks);
}

[[nodiscard]] bool is_uneven(const std::vector<int>& stages) {
  return std::adjacent_find(stages.begin(), stages.end(), std::not_equal_to<>{}) != stages.end();
}

[[nodiscard]] bool keeps_layers(const ModelConfig& model, const ShrinkLimits& limits) {
  if (std::holds_alternative<ResNetConfig>(model.shape)) return stays(limits, "model.stages");
  const TransformerConfig* transformer = model.transformer();
  const bool encodes = transformer != nullptr && transformer->encoder;
  return stays(limits, "model.layers") || (encodes && stays(limits, "model.encoder_layers"));
}

void set_layers(ModelConfig& model, const ShrinkLimits& limits, std::int64_t layers) {
  if (auto* resnet = std::get_if<ResNetConfig>(&model.shape)) {
    fit_blocks(*resnet, limits, layers);
  } else if (auto* mlp = std::get_if<MlpConfig>(&model.shape)) {
    mlp->layers = layers;
  } else {
    auto& transformer = std::get<TransformerConfig>(model.shape);
    if (transformer.encoder) return divide_layers(transformer, layers);
    transformer.layers = layers;
  }
}

/// Where a scenario says how many layers each part of the pipeline has, the model follows.
void shrink_stages(SizedLayout& small, const ShrinkLimits& limits) {
  std::vector<int>& stages = small.parallel.stages;
  const int chunks = small.parallel.pp * small.parallel.vpp;
  const std::int64_t least = layers_of(small.model);
  const bool keeps = stays(limits, "parallel.stages");
  if (keeps_layers(small.model, limits)) {
    const bool fits = static_cast<int>(stages.size()) == chunks;
    if (!fits && !keeps) stages = spread_layers(least, chunks, is_uneven(stages));
    return;
  }
  if (!keeps) stages = fewer_stages(stages, chunks, least);
  const auto together = std::accumulate(stages.begin(), stages.end(), std::int64_t{0});
  set_layers(small.model, limits, together);
}

}  // namespace

void shrink_model(SizedLayout& small, const SizedLayout& whole, const ShrinkLimits& limits) {
  auto& shape = small.model.shape;
  if (auto* transformer = std::get_if<TransformerConfig>(&shape)) {
    shrink_transformer(*transformer, whole, small, limits);
  } else if (auto* mlp = std::get_if<MlpConfig>(&shape)) {
    shrink_mlp(*mlp, whole, small, limits);
  } else {
    shrink_resnet(std::get<ResNetConfig>(shape), whole, small, limits);
  }
  if (!small.parallel.stages.empty()) shrink_stages(small, limits);
}

}  // namespace lockstep::shrinking
