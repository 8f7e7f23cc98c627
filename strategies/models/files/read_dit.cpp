#include <fmt/format.h>

#include "strategies/models/files/model_readers.hpp"
#include "strategies/models/files/read_names.hpp"

namespace lockstep {

namespace {

constexpr std::int64_t kMostValues = 8192;  // along a side

ImageInput read_latents(ObjectReader& in) {
  ImageInput image;
  image.class_token = false;
  image.side =
      in.integer({"image", "Width and height of the latents (default: 32)"}, 1, kMostValues, 32);
  image.patch =
      in.integer({"patch", "Patch width and height in latent values; divides image (default: 2)"},
                 1, kMostValues, 2);
  image.channels =
      in.integer({"channels", "Values per place of the latents (default: 4)"}, 1, 1024, 4);
  return image;
}

}  // namespace

TransformerConfig read_dit(ObjectReader& in) {
  TransformerConfig config;
  config.causal = false;
  config.norm_gain = false;
  config.positions = Positions::none;
  config.layers = in.integer({"layers", "Number of layers"}, 1, kMostLayers);
  config.hidden = in.integer({"hidden", "Hidden size"}, 1, kWidest);
  config.heads = in.integer({"heads", "Number of attention heads"}, 1, kMostHeads);
  config.kv_heads = config.heads;
  config.ffn = in.integer({"ffn", "Inner dimension of the MLP (default: 4 * hidden)"}, 1,
                          4 * kWidest, 4 * config.hidden);
  config.vocabulary =
      in.integer({"classes", "Number of classes; that of no label is one more (default: 1000)"}, 1,
                 kMostWords, 1000);
  config.image = read_latents(in);
  config.diffusion = DiffusionTransformer{};
  config.diffusion->learned_variance = in.boolean(
      {"learned_variance", "A variance is predicted next to every value of noise (default: true)"},
      true);
  config.attention = read_attention_kind(in);
  if (in.self().problems().any()) return config;
  check_patches(in, config);
  if (is_too_large(config))
    in.note(fmt::format("a model of more than {:g} parameters", kMostParameters));
  return config;
}

}  // namespace lockstep
