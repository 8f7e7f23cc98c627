#pragma once

#include "sim/config/reader.hpp"
#include "strategies/models/model_config.hpp"

/// Shared by the readers of models that read images in patches.
namespace lockstep {

/// Layers that attend in both directions.
[[nodiscard]] TransformerConfig read_patch_layers(ObjectReader& in);

/// Descriptions of the keys of an image, and what is absent.
struct ImageKeys {
  std::string_view side;
  std::string_view patch;
  std::string_view channels;
  ImageInput defaults;
};
[[nodiscard]] ImageInput read_image(ObjectReader& in, const ImageKeys& keys);

/// Reports heads that do not divide the hidden size, patches that do not divide the image or are
/// too many, and models that are too large; sets the size of heads and the sequence length.
void check_patches(ObjectReader& in, TransformerConfig& config);

}  // namespace lockstep
