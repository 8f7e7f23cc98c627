#include <fmt/format.h>

#include <algorithm>

#include "strategies/models/files/model_readers.hpp"
#include "strategies/models/files/read_names.hpp"

namespace lockstep {

namespace {

constexpr std::int64_t kMostPixels = 8192;  // of a side

ImageInput read_image(ObjectReader& in) {
  ImageInput image;
  image.side =
      in.integer({"image", "Image width and height in pixels (default: 224)"}, 1, kMostPixels, 224);
  image.patch =
      in.integer({"patch", "Patch width and height in pixels; divides image (default: 16)"}, 1,
                 kMostPixels, 16);
  image.channels = in.integer({"channels", "Values per pixel (default: 3)"}, 1, 1024, 3);
  image.class_token =
      named<bool>(in,
                  {"pooling",
                   "What is classified: class_token (a learned token before the patches) or mean "
                   "(the mean of all patches) (default: class_token)"},
                  "pooling", {{"class_token", true}, {"mean", false}}, true);
  return image;
}

}  // namespace

TransformerConfig read_vit(ObjectReader& in) {
  TransformerConfig config;
  config.causal = false;
  config.head_bias = true;
  config.layers = in.integer({"layers", "Number of layers"}, 1, kMostLayers);
  config.hidden = in.integer({"hidden", "Hidden size"}, 1, kWidest);
  config.heads = in.integer({"heads", "Number of attention heads"}, 1, kMostHeads);
  config.kv_heads = config.heads;
  config.ffn = in.integer({"ffn", "Inner dimension of the MLP (default: 4 * hidden)"}, 1,
                          4 * kWidest, 4 * config.hidden);
  config.vocabulary =
      in.integer({"classes", "Number of classes (default: 1000)"}, 1, kMostWords, 1000);
  config.image = read_image(in);
  config.function =
      read_activation(in, "Activation function (default: gelu)", ActivationFunction::gelu);
  config.attention = read_attention_kind(in);
  read_dropout(in, config);
  if (in.self().problems().any()) return config;
  if (is_gated(config.function))
    in.note("activation", "\"swiglu\" and \"geglu\" are activations of gated MLPs alone");
  check_patches(in, config);
  if (is_too_large(config))
    in.note(fmt::format("a model of more than {:g} parameters", kMostParameters));
  return config;
}

void check_patches(ObjectReader& in, TransformerConfig& config) {
  const ImageInput& image = *config.image;
  if (config.hidden % config.heads != 0)
    in.note("heads", fmt::format("a hidden size of {} is not divisible by {} heads", config.hidden,
                                 config.heads));
  if (image.side % image.patch != 0)
    in.note("patch", fmt::format("an image of {} pixels is not divisible by patches of {}",
                                 image.side, image.patch));
  if (image.tokens() > kLongestSequence)
    in.note("patch",
            fmt::format("{} patches; an image may have {}", image.patches(), kLongestSequence));
  config.head_size = std::max<std::int64_t>(1, config.hidden / config.heads);
  config.sequence = std::max<std::int64_t>(1, image.tokens());
}

}  // namespace lockstep
