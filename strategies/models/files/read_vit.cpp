#include "strategies/models/files/model_readers.hpp"
#include "strategies/models/files/read_names.hpp"
#include "strategies/models/files/read_patches.hpp"

namespace lockstep {

TransformerConfig read_vit(ObjectReader& in) {
  TransformerConfig config = read_patch_layers(in);
  config.head_bias = true;
  config.vocabulary =
      in.integer({"classes", "Number of classes (default: 1000)"}, 1, kMostWords, 1000);
  config.image = read_image(in, {"Image width and height in pixels (default: 224)",
                                 "Patch width and height in pixels; divides image (default: 16)",
                                 "Values per pixel (default: 3)",
                                 {.side = 224, .patch = 16, .channels = 3}});
  config.image->class_token =
      named<bool>(in,
                  {"pooling",
                   "What is classified: class_token (a learned token before the patches) or mean "
                   "(the mean of all patches) (default: class_token)"},
                  "pooling", {{"class_token", true}, {"mean", false}}, true);
  config.function =
      read_activation(in, "Activation function (default: gelu)", ActivationFunction::gelu);
  config.attention = read_attention_kind(in);
  read_dropout(in, config);
  if (in.self().problems().any()) return config;
  if (is_gated(config.function))
    in.note("activation", "\"swiglu\" and \"geglu\" are activations of gated MLPs alone");
  check_patches(in, config);
  return config;
}

}  // namespace lockstep
