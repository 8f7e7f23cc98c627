#pragma once

#include "strategies/models/model_config.hpp"
#include "strategies/models/model_form.hpp"
#include "strategies/models/model_graph.hpp"

namespace lockstep {

struct BuildOptions {
  std::int64_t batch =
      1;  // sequences (images, clips) of one microbatch, over all data-parallel ranks
  Dtype activations = Dtype::bf16;
  Dtype weights = Dtype::bf16;
  Dtype gradients = Dtype::bf16;
  Dtype math = Dtype::bf16;       // of linear layers
  std::int64_t microbatches = 1;  // the loss is the mean over all of them
  double capacity_factor = 0;     // of experts: slots per expert over the mean; 0: dropless
  std::int64_t token_parts = 1;   // ranks that the tokens of a microbatch are cut among
  ModelForm form{};

  /// Of attention and routers: where linear layers run in 8 bits, as wide as activations are kept.
  [[nodiscard]] Dtype core_math() const { return math == Dtype::fp8 ? activations : math; }
  /// Of the output layer.
  [[nodiscard]] Dtype output_math() const { return form.fp8_output_layer ? math : core_math(); }
};

/// The training step of one device: forward and backward of every kind of block. All tensors whole,
/// no communication; what strategies cut is found by its dimensions. A gradient tensor is written
/// by one operation, or by products of one fused number. Learned positions are looked up by an
/// input of their own, position_ids, which holds 0 .. sequence - 1 for every sequence.
[[nodiscard]] ModelGraph build_model(const ModelConfig& model, const BuildOptions& options);

}  // namespace lockstep
