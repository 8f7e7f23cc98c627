#pragma once

#include <cstddef>
#include <set>
#include <string_view>
#include <vector>

#include "strategies/layout/parallel_config.hpp"
#include "strategies/models/model_graph.hpp"

namespace lockstep {

/// The name of an operation in its layer: without what says that this is one of multi-token
/// prediction.
[[nodiscard]] std::string_view name_in_layer(const Operation& operation);

/// One module of a layer that is done again, as indices into Block::forward, ascending.
struct RecomputedModule {
  std::vector<std::size_t> operations{};
  /// Done again as a whole, communication included, as an ordinary checkpoint is: core_attn, mlp,
  /// moe, shared_experts. Else only what backward needs of it.
  bool whole = false;
  /// What a checkpoint gives, which stays; what is done again gives it to nobody.
  std::vector<Ref> results{};
};

/// The modules of a block (Megatron-Core core/transformer: transformer_layer.py, attention.py,
/// multi_latent_attention.py, moe/moe_layer.py, moe/experts.py, recompute_modules), in forward
/// order.
/// core_attn: scores, softmax, dropout and the context, whose result stays; nothing of fused
/// attention. layernorm: each norm before attention and before the MLP, with the casts of its
/// result. mla_up_proj: norms of the compressed queries, keys and values, their up-projections, the
/// rotation; what is compressed stays. moe_act: the experts' activation function. Of the last three
/// the result is dropped, too, and made again for the gradient that reads it
/// (CheckpointWithoutOutput). mlp, moe and shared_experts keep their input, uncast. What a module
/// has of another one is the outer one's.
[[nodiscard]] std::vector<RecomputedModule> modules_of(const Block& block,
                                                       const std::set<RecomputeModule>& modules);

}  // namespace lockstep
