#include "strategies/models/files/read_patches.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "strategies/models/files/model_readers.hpp"

namespace lockstep {

TransformerConfig read_patch_layers(ObjectReader& in) {
  TransformerConfig config;
  config.causal = false;
  config.layers = in.integer({"layers", "Number of layers"}, 1, kMostLayers);
  config.hidden = in.integer({"hidden", "Hidden size"}, 1, kWidest);
  config.heads = in.integer({"heads", "Number of attention heads"}, 1, kMostHeads);
  config.kv_heads = config.heads;
  config.ffn = in.integer({"ffn", "Inner dimension of the MLP (default: 4 * hidden)"}, 1,
                          4 * kWidest, 4 * config.hidden);
  return config;
}

ImageInput read_image(ObjectReader& in, const ImageKeys& keys) {
  constexpr std::int64_t kMostPlaces = 8192;  // along a side
  ImageInput image;
  image.side = in.integer({"image", keys.side}, 1, kMostPlaces, keys.defaults.side);
  image.patch = in.integer({"patch", keys.patch}, 1, kMostPlaces, keys.defaults.patch);
  image.channels = in.integer({"channels", keys.channels}, 1, 1024, keys.defaults.channels);
  image.class_token = keys.defaults.class_token;
  return image;
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
  if (is_too_large(config))
    in.note(fmt::format("a model of more than {:g} parameters", kMostParameters));
}

}  // namespace lockstep
