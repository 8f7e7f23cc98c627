#include "strategies/models/count/layers.hpp"

#include <numeric>

namespace lockstep {

std::int64_t layers_of(const ModelConfig& model) {
  if (const auto* transformer = model.transformer())
    return transformer->layers + (transformer->encoder ? transformer->encoder->layers : 0);
  if (const auto* mlp = std::get_if<MlpConfig>(&model.shape)) return mlp->layers;
  const auto& stages = std::get<ResNetConfig>(model.shape).stages;
  return std::accumulate(stages.begin(), stages.end(), std::int64_t{0});
}

}  // namespace lockstep
