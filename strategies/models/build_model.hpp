#pragma once

#include "strategies/models/model_config.hpp"
#include "strategies/models/model_form.hpp"
#include "strategies/models/model_graph.hpp"
#include "strategies/models/precision_recipe.hpp"

namespace lockstep {

struct BuildOptions {
  std::int64_t batch =
      1;  // sequences (images, clips) of one microbatch, over all data-parallel ranks
  Dtype activations = Dtype::bf16;
  Dtype weights = Dtype::bf16;
  Dtype gradients = Dtype::bf16;
  Dtype math = Dtype::bf16;       // of linear layers
  std::int64_t microbatches = 1;  // the loss is the mean over all of them
  double capacity_factor = 0;     // of experts: slots over mean tokens per expert; 0: dropless
  std::int64_t token_parts = 1;   // ranks that share the tokens of a microbatch
  ModelForm form{};
  PrecisionRecipe recipe{};  // with `math` of at most 8 bits

  /// Precision of what runs as the activations if linear layers run in at most 8 bits: routers.
  [[nodiscard]] Dtype wide_math() const { return is_narrow(math) ? activations : math; }
  [[nodiscard]] Dtype attention_math() const { return recipe.attention ? math : wide_math(); }
  [[nodiscard]] Dtype output_math() const { return recipe.output_layer ? math : wide_math(); }
};

/// The training step of a model on one device: forward and backward of every kind of block, on
/// unsharded tensors, without communication; strategies shard by dimension. A gradient tensor is
/// written by one operation or by GEMMs fused under one number. Learned positions are read with an
/// input of their own, position_ids: 0 .. sequence - 1 for every sequence.
[[nodiscard]] ModelGraph build_model(const ModelConfig& model, const BuildOptions& options);

}  // namespace lockstep
