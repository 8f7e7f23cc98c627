#include <doctest/doctest.h>

#include <set>
#include <vector>

#include "strategies/layout/scenario_names.hpp"
#include "tests/strategies/step/numbers/numbers_harness.hpp"

// Modules that are done again, against one device that keeps everything.
namespace lockstep::test {
namespace {

using Modules = std::set<RecomputeModule>;
using enum RecomputeModule;

[[nodiscard]] TransformerConfig latent(TransformerConfig shape) {
  shape.kv_heads = 4;
  shape.head_size = 6;
  shape.latent = LatentAttention{
      .query_rank = 8, .kv_rank = 8, .key_size = 4, .rotary_size = 2, .value_size = 4};
  return shape;
}

/// Each alone, and together.
[[nodiscard]] std::vector<Modules> each_and_all(const Modules& all) {
  std::vector<Modules> out{all};
  for (const RecomputeModule module : all) out.push_back({module});
  return out;
}

/// Checkpoints are whole and stop early in turn, with a pipeline the other way round.
void check_each(const TransformerConfig& shape, const ParallelConfig& parallel,
                const std::vector<Modules>& lists) {
  bool early = parallel.pp > 1;
  for (const Modules& modules : lists) {
    ParallelConfig with = parallel;
    with.recompute = Recompute::selective;
    with.recompute_modules = modules;
    with.form.stops_early = early = !early;
    CAPTURE(modules_text(modules));
    CAPTURE(early);
    check(model_of(shape), with);
  }
}

[[nodiscard]] ParallelConfig pipeline(PipelineOrder order, int vpp = 1) {
  ParallelConfig out = layout(2);
  out.pp = 2;
  out.vpp = vpp;
  out.schedule = order;
  out.global_batch *= 2;
  return out;
}

/// One way of cutting each.
[[nodiscard]] std::vector<ParallelConfig> layouts() {
  std::vector<ParallelConfig> out(4, layout(2));
  out[1].tp = 2;
  out[2].tp = 2;
  out[2].sequence_parallel = true;
  out[2].overlap = {Overlap::tp};
  out[3].zero = 3;
  out.push_back(context(ContextKind::ring, 2, true));
  out.push_back(pipeline(PipelineOrder::one_f_one_b));
  out.push_back(pipeline(PipelineOrder::interleaved, 2));
  out.push_back(pipeline(PipelineOrder::zb_h1));
  out.push_back(pipeline(PipelineOrder::dualpipe_v, 2));
  out.back().tp = 2;
  out.back().sequence_parallel = true;
  return out;
}

TEST_CASE("modules of a plain layer that are done again compute what one device does") {
  TransformerConfig unfused = gpt();
  unfused.attention = AttentionKind::unfused;
  unfused.dropout = 0.2;
  TransformerConfig around = llama();
  around.norm_place = NormPlace::around;
  TransformerConfig beside = gpt();
  beside.residual = Residual::parallel;
  for (const TransformerConfig& shape : {unfused, llama(), around, beside})
    for (const ParallelConfig& parallel : layouts()) {
      if (parallel.cp > 1 && shape.attention == AttentionKind::unfused) continue;
      check_each(shape, parallel, each_and_all({core_attn, layernorm, mlp}));
    }
}

TEST_CASE("modules of latent attention and experts done again compute what one device does") {
  TransformerConfig shape = latent(experts(llama()));
  std::vector<Modules> lists = each_and_all({layernorm, mla_up_proj, mlp, moe_act, shared_experts});
  lists.push_back({moe});
  lists.push_back({layernorm, moe, moe_act});
  for (const std::int64_t query_rank : {0, 8}) {
    shape.latent->query_rank = query_rank;
    for (ParallelConfig parallel : layouts()) {
      check_each(shape, parallel, query_rank > 0 ? lists : std::vector<Modules>{{mla_up_proj}});
      if (query_rank == 0 || parallel.cp > 1) continue;
      parallel.ep = 2;
      check_each(shape, parallel, lists);
    }
  }
}

TEST_CASE("so they do in the layers of multi-token prediction, and in pairs of microbatches") {
  TransformerConfig shape = latent(experts(llama()));
  shape.mtp = TokenPrediction{.layers = 2, .loss_scaling_factor = 0.3};
  const std::vector<Modules> lists{{layernorm, mla_up_proj, moe_act}, {layernorm, moe}, {mlp}};
  for (const PipelineOrder order :
       {PipelineOrder::none, PipelineOrder::interleaved, PipelineOrder::dualpipe_v}) {
    CAPTURE(static_cast<int>(order));
    ParallelConfig parallel = order == PipelineOrder::none ? layout(2) : pipeline(order, 2);
    parallel.ep = 2;
    parallel.overlap = {Overlap::ep_pairs};
    check_each(shape, parallel, lists);
  }
}

TEST_CASE("so they do where operands of GEMMs are kept as cast") {
  TransformerConfig shape = latent(experts(llama()));
  std::vector<Modules> lists = each_and_all({layernorm, mla_up_proj, mlp, moe_act, shared_experts});
  lists.push_back({moe});
  bool dispatched = false;
  for (ParallelConfig parallel : layouts()) {
    dispatched = !dispatched;
    parallel.precision = Dtype::fp8;
    parallel.recipe.inputs_once = parallel.recipe.weights_once = true;
    parallel.recipe.stores_operands = parallel.recipe.reduces_maxima = true;
    parallel.recipe.stores_dispatched = parallel.recipe.stores_activation_inputs = dispatched;
    if (dispatched) parallel.form.router_weights = RouterWeights::activation;
    if (parallel.cp == 1) parallel.ep = 2;
    check_each(shape, parallel, lists);
  }
}

}  // namespace
}  // namespace lockstep::test
