#include "strategies/models/files/model_readers.hpp"
#include "strategies/models/files/read_names.hpp"

namespace lockstep {

MlpConfig read_mlp(ObjectReader& in) {
  MlpConfig config;
  config.hidden = in.integer("hidden", 1, kWidest);
  config.ffn = in.integer({"ffn", "Inner dimension (default: 4 * hidden)"}, 1, 4 * kWidest,
                          4 * config.hidden);
  config.layers = in.integer({"layers", "Number of pairs (default: 1)"}, 1, kMostLayers, 1);
  config.function =
      read_activation(in, "Activation function (default: gelu)", ActivationFunction::gelu);
  if (is_gated(config.function)) {
    in.note("activation", "\"swiglu\" and \"geglu\" are activations of gated MLPs alone");
  }
  config.bias = in.boolean({"bias", "Bias of the linear layers (default: false)"}, false);
  return config;
}

ResNetConfig read_resnet(ObjectReader& in) {
  ResNetConfig config;
  if (const auto stages =
          in.optional({"stages", "Bottleneck blocks per stage (default: 3, 4, 6, 3)"})) {
    config.stages.clear();
    stages->array(
        [&config](const ValueReader& blocks) { config.stages.push_back(blocks.integer(1, 1000)); },
        1, 6);
  }
  config.width =
      in.integer({"width", "Channels of the first stage before the expansion by 4 (default: 64)"},
                 1, 4096, 64);
  config.image =
      in.integer({"image", "Image width and height in pixels (default: 224)"}, 1, 8192, 224);
  config.classes =
      in.integer({"classes", "Number of classes (default: 1000)"}, 1, kMostWords, 1000);
  config.frames = in.integer({"frames", "Frames per clip; 1: images (default: 1)"}, 1, 4096, 1);
  config.temporal_shift = in.boolean(
      {"temporal_shift",
       "Temporal shift in every block (TSM), for clips of at least two frames (default: false)"},
      false);
  if (config.temporal_shift && config.frames == 1) {
    in.note("frames", "a temporal shift needs clips of two frames at least");
  }
  return config;
}

}  // namespace lockstep
