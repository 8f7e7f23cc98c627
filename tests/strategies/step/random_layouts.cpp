#include "tests/strategies/step/random_layouts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <random>

#include "strategies/layout/scenario_names.hpp"
#include "strategies/scenario/parallel/layout_problems.hpp"
#include "tests/strategies/step/step_under_test.hpp"

namespace lockstep::test {

namespace {

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : engine_{seed} {}

  template <class T>
  [[nodiscard]] T of(std::initializer_list<T> choices) {
    return choices.begin()[engine_() % choices.size()];
  }
  [[nodiscard]] bool one_in(std::uint64_t n) { return engine_() % n == 0; }

 private:
  std::mt19937_64 engine_;
};

[[nodiscard]] TransformerConfig shape(Draw& draw) {
  TransformerConfig out;
  out.layers = 8;
  out.hidden = 64;
  out.heads = 8;
  out.kv_heads = draw.of({8, 8, 4, 2});
  out.sequence = 64;
  out.vocabulary = 128;
  out.gated = draw.one_in(3);
  if (out.gated) out.function = ActivationFunction::swiglu;
  out.bias = draw.one_in(2);
  out.norm = draw.of({Normalization::layer, Normalization::rms});
  out.positions = draw.of({Positions::learned, Positions::rotary});
  out.attention = draw.of({AttentionKind::flash, AttentionKind::flash, AttentionKind::unfused});
  out.dropout = draw.one_in(3) ? 0.1 : 0;
  out.tied_embeddings = draw.one_in(3);
  if (draw.one_in(5)) {
    out.latent = LatentAttention{draw.of({0, 32}), 16, 8, 4, 8};
    out.kv_heads = out.heads;
    out.positions = Positions::rotary;
  }
  if (draw.one_in(3)) {
    out.experts = ExpertsConfig{};
    out.experts->experts = 8;
    out.experts->ffn = 128;
    out.experts->shared = draw.of({0, 1});
    out.experts->shared_ffn = 128;
    out.experts->dense_layers = draw.of({0, 1});
  }
  return out;
}

/// The same with factors of three.
void make_odd(TransformerConfig& shape, Draw& draw) {
  shape.layers = 12;
  shape.hidden = 96;
  shape.heads = 12;
  shape.head_size = 8;
  if (!shape.latent) shape.kv_heads = draw.of({12, 6, 4, 3});
  if (shape.latent) shape.kv_heads = 12;
  shape.ffn = 288;
  shape.sequence = 144;
  shape.vocabulary = 144;
  if (shape.experts) shape.experts->experts = 12;
  if (shape.experts) shape.experts->ffn = 144;
  if (shape.experts) shape.experts->shared_ffn = 144;
}

void make_odd(ParallelConfig& layout, Draw& draw) {
  const std::int64_t microbatches = layout.microbatches();
  layout.tp = draw.of({1, 2, 3, 6});
  layout.cp = draw.of({1, 1, 2, 3, 6});
  layout.dp = draw.of({1, 2, 3, 6});
  layout.ep = draw.of({1, 1, 2, 3});
  if (layout.pp > 1) layout.pp = draw.of({2, 3, 4});
  if (layout.shard_ranks > 0) layout.shard_ranks = draw.of({2, 3});
  if (layout.cp_kind == ContextKind::both) layout.ulysses = draw.of({0, 2, 3});
  layout.global_batch = layout.micro_batch * layout.dp * microbatches;
}

[[nodiscard]] ParallelConfig parallel(Draw& draw) {
  ParallelConfig out;
  out.tp = draw.of({1, 2, 4});
  out.cp = draw.of({1, 1, 2, 4});
  out.pp = draw.of({1, 1, 2, 4});
  out.dp = draw.of({1, 2, 4});
  out.ep = draw.of({1, 2, 4});
  out.order = draw.of<std::vector<std::string>>({{"tp", "cp", "dp", "pp"},
                                                 {"tp", "cp", "pp", "dp"},
                                                 {"dp", "tp", "pp", "cp"},
                                                 {"pp", "dp", "cp", "tp"}});
  out.micro_batch = draw.of({1, 2});
  out.global_batch = out.micro_batch * out.dp * draw.of({4, 8});
  out.sequence_parallel = draw.one_in(2);
  out.cp_kind = draw.of({ContextKind::ring, ContextKind::ulysses, ContextKind::both});
  out.ulysses = 2;
  out.zigzag = !draw.one_in(4);
  out.zero = draw.of({0, 1, 2, 3});
  out.scatter_gradients = out.zero != 1 || draw.one_in(2);
  if (draw.one_in(3)) out.shard_ranks = 2;
  out.reshard_after_forward = draw.one_in(2);
  out.recompute = draw.of({Recompute::none, Recompute::selective, Recompute::full});
  out.state.offload = draw.one_in(5);
  out.bucket = Bytes{draw.of({50'000, 25'000'000})};
  if (out.pp > 1) {
    out.schedule = draw.of({PipelineOrder::naive, PipelineOrder::gpipe, PipelineOrder::one_f_one_b,
                            PipelineOrder::interleaved, PipelineOrder::zb_h1, PipelineOrder::zb_h2,
                            PipelineOrder::zb_1p, PipelineOrder::zb_2p});
    if (out.schedule == PipelineOrder::interleaved) out.vpp = 2;
  }
  for (const Overlap what :
       {Overlap::cp, Overlap::dp_gradients, Overlap::dp_parameters, Overlap::pp, Overlap::tp}) {
    if (draw.one_in(2)) out.overlap.insert(what);
  }
  return out;
}

/// Drawn apart, so that all else stays what it was.
void draw_traffic(ParallelConfig& out, Draw& draw) {
  out.reduce_gradients =
      draw.of({GradientReduction::every_microbatch, GradientReduction::last_microbatch});
  out.update = draw.of({UpdateStart::after_all, UpdateStart::after_all, UpdateStart::by_bucket});
  for (const Overlap what : {Overlap::ep, Overlap::hsdp}) {
    if (draw.one_in(2)) out.overlap.insert(what);
  }
  if (draw.one_in(2)) out.reduce_replicas = GradientReduction::every_microbatch;
  if (draw.one_in(2)) out.shards = Dtype::fp32;
  if (out.has_wide_shards() && !draw.one_in(3)) out.state.gradients = Dtype::fp32;
}

/// A schedule in a V, or an interleaved one with groups that stages do not divide.
void draw_v(ParallelConfig& out, Draw& draw) {
  out.vpp = 2;
  out.schedule = draw.of({PipelineOrder::zb_v, PipelineOrder::v_half, PipelineOrder::v_min,
                          PipelineOrder::dualpipe_v, PipelineOrder::interleaved});
  if (out.schedule != PipelineOrder::interleaved) return;
  out.microbatch_group = out.pp + 1;
  out.global_batch = out.micro_batch * out.dp * (2 * out.pp + 1);
}

/// Two copies of the model, in a pipeline from both ends.
void draw_copies(ParallelConfig& out, Draw& draw) {
  if (out.pp % 2 != 0 || !draw.one_in(2)) return;
  out.vpp = 1;
  out.schedule = PipelineOrder::dualpipe;
  out.microbatch_group = 0;
  out.global_batch = out.micro_batch * out.dp * 2 * (out.pp + (draw.one_in(2) ? 1 : 0));
}

/// GEMMs in at most 8 bits.
void draw_recipe(ParallelConfig& out, Draw& draw) {
  out.precision = draw.of({Dtype::fp8, Dtype::fp8_block, Dtype::nvfp4});
  PrecisionRecipe& recipe = out.recipe;
  recipe.products = out.precision;
  recipe.casts = {2, 4};
  recipe.inputs_once = draw.one_in(2);
  recipe.weights_once = draw.one_in(2);
  recipe.stores_operands = recipe.inputs_once && !draw.one_in(4);
  recipe.stores_dispatched = recipe.stores_operands && draw.one_in(2);
  recipe.reduces_maxima = recipe.stores_operands && draw.one_in(2);
  recipe.weight_gradients = !draw.one_in(4);
  recipe.output_layer = draw.one_in(2);
  recipe.attention = draw.one_in(4);
  recipe.kept_weights = recipe.weights_once && out.zero < 3 ? 2 : 0;
  recipe.first_layers = draw.of({0, 0, 1});
  recipe.last_layers = draw.of({0, 0, 1});
}

/// Some modules of layers, of those that the model has.
void draw_modules(ParallelConfig& out, const TransformerConfig& model, Draw& draw) {
  using enum RecomputeModule;
  std::set<RecomputeModule> all{core_attn, layernorm};
  if (model.latent) all.insert(mla_up_proj);
  if (!model.experts || model.experts->dense_layers > 0) all.insert(mlp);
  if (model.experts) all.insert({moe, moe_act});
  if (model.experts && model.experts->shared > 0) all.insert(shared_experts);
  std::set<RecomputeModule> some;
  for (const RecomputeModule module : all)
    if (draw.one_in(module == moe ? 4 : 2)) some.insert(module);
  if (some.empty()) return;
  out.recompute = Recompute::selective;
  out.recompute_modules = some;
  out.form.stops_early = draw.one_in(3);
}

}  // namespace

std::vector<RandomLayout> random_layouts(std::uint64_t seed, int count) {
  Draw draw{seed};
  Draw more{seed + 1'000'000};
  Draw folding{seed + 2'000'000};
  Draw gathering{seed + 3'000'000};
  Draw narrowing{seed + 4'000'000};
  Draw repeating{seed + 5'000'000};
  Draw keeping{seed + 6'000'000};
  Draw copying{seed + 7'000'000};
  std::vector<RandomLayout> out;
  while (out.size() < static_cast<std::size_t>(count)) {
    TransformerConfig model = shape(draw);
    ParallelConfig with = parallel(draw);
    if (!draw.one_in(3)) {
      make_odd(model, draw);
      make_odd(with, draw);
    }
    draw_traffic(with, more);
    if (model.experts) with.etp = folding.of({0, 0, 1, 2});
    if (with.cp > 1 && gathering.one_in(4)) with.cp_kind = ContextKind::all_gather;
    if (with.pp > 1 && gathering.one_in(3)) draw_v(with, gathering);
    if (with.pp > 1 && copying.one_in(4)) draw_copies(with, copying);
    if (narrowing.one_in(4)) draw_recipe(with, narrowing);
    if (repeating.one_in(3)) draw_modules(with, model, repeating);
    if (model.experts && keeping.one_in(2)) with.form.router_weights = RouterWeights::activation;
    with.recipe.stores_activation_inputs = with.recipe.stores_operands && keeping.one_in(2);
    RandomLayout layout{transformer(model), with};
    if (layout.parallel.ranks() > 32) continue;
    if (!layout_problems(layout.model, layout.parallel, layout.parallel.ranks(), 8).empty())
      continue;
    out.push_back(std::move(layout));
  }
  return out;
}

bool possible(const RandomLayout& layout) {
  return layout_problems(layout.model, layout.parallel, layout.parallel.ranks(), 8).empty();
}

RandomLayout shrunk(RandomLayout layout) {
  TransformerConfig shape = layout.shape();
  ParallelConfig& parallel = layout.parallel;
  const bool odd = shape.heads % 3 == 0;
  shape.layers = std::max(2, parallel.pp * parallel.vpp);
  shape.hidden = 16;
  shape.head_size = 2;
  shape.ffn = odd ? 36 : 16;
  shape.vocabulary = 32;
  if (shape.experts) {
    shape.experts->ffn = odd ? 12 : 8;
    shape.experts->shared_ffn = odd ? 12 : 8;
  }
  if (shape.latent) {
    shape.head_size = 4;
    shape.latent = LatentAttention{
        .query_rank = 4, .kv_rank = 4, .key_size = 2, .rotary_size = 2, .value_size = 2};
  }
  parallel.state.optimizer = Optimizer::momentum;
  parallel.micro_batch = 1;
  parallel.global_batch = std::int64_t{parallel.dp} * std::max(2, parallel.pp);
  if (parallel.schedule == PipelineOrder::dualpipe_v ||
      parallel.schedule == PipelineOrder::dualpipe)
    parallel.global_batch *= 2;
  if (parallel.microbatch_group > 0)
    parallel.global_batch = std::int64_t{parallel.dp} * (2 * parallel.pp + 1);
  parallel.bucket = Bytes{parallel.bucket.count() / 16};
  for (const int times : {1, 2}) {
    shape.sequence = times * (odd ? 36 : 16);
    layout.model = transformer(shape);
    if (possible(layout)) break;
  }
  return layout;
}

RandomLayout encoder_decoder(RandomLayout layout) {
  const TransformerConfig drawn = layout.shape();
  TransformerConfig shape;
  shape.hidden = drawn.hidden;
  shape.heads = drawn.heads;
  shape.head_size = std::max<std::int64_t>(1, drawn.hidden / drawn.heads);
  shape.sequence = drawn.sequence;
  shape.vocabulary = drawn.vocabulary;
  shape.gated = drawn.gated;
  shape.function = drawn.gated ? ActivationFunction::geglu : ActivationFunction::relu;
  shape.norm = Normalization::rms;
  shape.bias = false;
  shape.positions = Positions::none;
  shape.attention = AttentionKind::unfused;
  shape.dropout = drawn.dropout;
  shape.tied_embeddings = drawn.tied_embeddings;
  shape.layers = std::max<std::int64_t>(1, drawn.layers * 2 / 5);
  shape.encoder =
      EncoderStack{std::max<std::int64_t>(1, drawn.layers - shape.layers), 2 * drawn.sequence, 8};
  layout.model = transformer(shape);
  ParallelConfig& parallel = layout.parallel;
  parallel.ep = 1;
  parallel.etp = 0;
  parallel.form.router_weights = ParallelConfig{}.form.router_weights;
  parallel.recipe.stores_dispatched = false;
  std::erase_if(parallel.recompute_modules, [](RecomputeModule module) {
    return module != RecomputeModule::core_attn && module != RecomputeModule::layernorm &&
           module != RecomputeModule::mlp;
  });
  if (parallel.recompute_modules.empty()) parallel.recompute = Recompute::none;
  return layout;
}

RandomLayout in_turn(RandomLayout layout, std::uint64_t draw) {
  TransformerConfig shape = layout.shape();
  ParallelConfig& parallel = layout.parallel;
  if (!shape.experts) shape.experts = ExpertsConfig{};
  shape.experts->experts = shape.heads;  // 8 or 12
  if (shape.experts->ffn == 0) shape.experts->ffn = 2 * shape.hidden;
  layout.model.shape = shape;
  if (parallel.ep == 1) parallel.ep = parallel.dp > 1 ? parallel.dp : parallel.cp;
  if (parallel.zero == 3) parallel.zero = static_cast<int>(draw % 3);
  if (parallel.pp > 1) {
    parallel.microbatch_group = 0;
    parallel.schedule = std::array{PipelineOrder::interleaved, PipelineOrder::dualpipe_v,
                                   PipelineOrder::dualpipe}[draw / 3 % 3];
    parallel.vpp = parallel.schedule == PipelineOrder::dualpipe ? 1 : 2;
    parallel.global_batch =
        parallel.micro_batch * parallel.dp * (2 * parallel.pp + (draw / 9 % 2 == 0 ? 2 : 0));
  }
  parallel.overlap.insert(Overlap::ep_pairs);
  parallel.delay_wgrad_compute = !parallel.splits_backward() && draw / 18 % 2 == 0;
  return layout;
}

std::string to_string(const RandomLayout& layout) {
  const ParallelConfig& p = layout.parallel;
  const TransformerConfig& m = layout.shape();
  std::string overlap;
  for (const Overlap what : p.overlap) overlap += fmt::format(" {}", static_cast<int>(what));
  return fmt::format(
      "tp {} cp {} (kind {}, zigzag {}) pp {} vpp {} (schedule {}) dp {} ep {} etp {} order {} sp "
      "{} "
      "zero {} (scatter {}, reduce {} {}) update {} shards {} (wide {}) reshard {} recompute {} "
      "({}, "
      "early {}) "
      "offload {} "
      "batch {}/{} bucket {} "
      "overlap{} delay {} precision {} stored {} {} {} maxima {} wide {} {}; "
      "kv {} gated {} bias {} norm {} positions {} attention {} dropout {} tied {} experts {} "
      "(weights {}) latent {}",
      p.tp, p.cp, static_cast<int>(p.cp_kind), p.zigzag, p.pp, p.vpp, static_cast<int>(p.schedule),
      p.dp, p.ep, p.etp, p.order.front(), p.sequence_parallel, p.zero, p.scatter_gradients,
      static_cast<int>(p.reduce_gradients), static_cast<int>(p.reduce_replicas),
      static_cast<int>(p.update), p.shard_ranks, p.has_wide_shards(), p.reshard_after_forward,
      static_cast<int>(p.recompute), modules_text(p.recompute_modules), p.form.stops_early,
      p.state.offload, p.micro_batch, p.global_batch, p.bucket.count(), overlap,
      p.delay_wgrad_compute, to_string(p.precision), p.recipe.stores_operands,
      p.recipe.stores_dispatched, p.recipe.stores_activation_inputs, p.recipe.reduces_maxima,
      p.recipe.first_layers, p.recipe.last_layers, m.kv_heads, m.gated, m.bias,
      static_cast<int>(m.norm), static_cast<int>(m.positions), static_cast<int>(m.attention),
      m.dropout, m.tied_embeddings, m.experts ? m.experts->experts : 0,
      static_cast<int>(p.form.router_weights), m.latent.has_value());
}

}  // namespace lockstep::test
