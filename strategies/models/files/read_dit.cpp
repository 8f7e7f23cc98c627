#include "strategies/models/files/model_readers.hpp"
#include "strategies/models/files/read_names.hpp"
#include "strategies/models/files/read_patches.hpp"

namespace lockstep {

TransformerConfig read_dit(ObjectReader& in) {
  TransformerConfig config = read_patch_layers(in);
  config.norm_gain = false;
  config.positions = Positions::none;
  config.vocabulary =
      in.integer({"classes", "Number of classes; that of no label is one more (default: 1000)"}, 1,
                 kMostWords, 1000);
  config.image =
      read_image(in, {"Width and height of the latents (default: 32)",
                      "Patch width and height in latent values; divides image (default: 2)",
                      "Values per place of the latents (default: 4)",
                      {.side = 32, .patch = 2, .channels = 4, .class_token = false}});
  config.diffusion = DiffusionTransformer{};
  config.diffusion->learned_variance = in.boolean(
      {"learned_variance", "A variance is predicted next to every value of noise (default: true)"},
      true);
  config.attention = read_attention_kind(in);
  if (!in.self().problems().any()) check_patches(in, config);
  return config;
}

}  // namespace lockstep
