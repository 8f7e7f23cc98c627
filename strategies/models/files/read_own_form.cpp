#include "strategies/models/files/model_readers.hpp"
#include "strategies/models/files/read_names.hpp"

namespace lockstep {

MlpConfig read_mlp(ObjectReader& in) {
  MlpConfig config;
  config.hidden = in.integer("hidden", 1, kWidest);
  config.ffn = in.integer("ffn", 1, 4 * kWidest, 4 * config.hidden);
  config.layers = in.integer("layers", 1, kMostLayers, 1);
  config.function = read_activation(in, ActivationFunction::gelu);
  if (is_gated(config.function)) {
    in.note("activation", "\"swiglu\" and \"geglu\" are activations of gated MLPs alone");
  }
  config.bias = in.boolean("bias", false);
  return config;
}

ResNetConfig read_resnet(ObjectReader& in) {
  ResNetConfig config;
  if (in.optional("stages")) {
    config.stages.clear();
    in.array(
        "stages",
        [&config](const ValueReader& blocks) { config.stages.push_back(blocks.integer(1, 1000)); },
        1, 6);
  }
  config.width = in.integer("width", 1, 4096, 64);
  config.image = in.integer("image", 1, 8192, 224);
  config.classes = in.integer("classes", 1, kMostWords, 1000);
  config.frames = in.integer("frames", 1, 4096, 1);
  config.temporal_shift = in.boolean("temporal_shift", false);
  if (config.temporal_shift && config.frames == 1) {
    in.note("frames", "a temporal shift needs clips of two frames at least");
  }
  return config;
}

}  // namespace lockstep
