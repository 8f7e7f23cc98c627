#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "strategies/layout/training_step_assembly.hpp"

/// Strategies as passes: each takes a training step and returns it with its strategy applied. The
/// table below is their order, with what each needs, gives and ends; step/run_passes.hpp runs it.
namespace lockstep {

/// What holds of a step between two passes. step/facts.hpp checks each on the step itself.
enum class Fact : std::uint8_t {
  one_device,       // the graph is that of one device: nothing is sharded, nothing communicates
  reads_defined,    // a block reads weights, inputs, its residual stream and what it wrote before
  sharded,          // every operation, communication included, fits the shards of its operands
  weights_listed,   // TrainingStepAssembly::weights: every gradient's sums and shards
  routines_made,    // TrainingStepAssembly::routines: every operation of every block, once
  stages_ordered,   // each position and microbatch forward, then backward, once; messages in pairs
  gradients_whole,  // gradients are summed over the replicas that train together
  weights_updated,  // every weight is updated once, and whole again unless ZeRO-3 gathers it
  complete,         // the program of every role reads only what was written, on known streams
};

class FactSet {
 public:
  constexpr FactSet() = default;
  constexpr FactSet(std::initializer_list<Fact> facts) {
    for (const Fact fact : facts) bits_ = static_cast<std::uint16_t>(bits_ | bit(fact));
  }
  [[nodiscard]] constexpr bool has(Fact fact) const { return (bits_ & bit(fact)) != 0; }
  [[nodiscard]] constexpr FactSet with(FactSet more) const { return FactSet(bits_ | more.bits_); }
  [[nodiscard]] constexpr FactSet without(FactSet ended) const {
    return FactSet(bits_ & ~ended.bits_);
  }

  friend constexpr bool operator==(FactSet, FactSet) = default;

 private:
  explicit constexpr FactSet(int bits) : bits_{static_cast<std::uint16_t>(bits)} {}
  [[nodiscard]] static constexpr int bit(Fact fact) { return 1 << static_cast<int>(fact); }

  std::uint16_t bits_ = 0;
};

struct StrategyPass {
  std::string_view name;
  void (*run)(TrainingStepAssembly& step);
  bool (*applies)(const TrainingStepAssembly& step);
  FactSet needs{};     // preconditions
  FactSet precedes{};  // preconditions: what must not hold yet, as it would not cover this pass
  FactSet gives{};     // postconditions, beside all that held and that it does not end
  FactSet ends{};
};

/// Shards all tensors by the strategies' rules and inserts the communication that follows
/// (sharding/propagate_sharding.hpp).
void shard_tensors(TrainingStepAssembly& step);
/// With ModelForm::distributed_tensors: the kernels that go with collectives of tensor parallelism
/// and put parts of tensors in order, or add them up (sharding/distributed_tensors.cpp).
void order_parts(TrainingStepAssembly& step);
/// With PrecisionRecipe::reduces_maxima and sequence parallelism: before the cast of an operand
/// that is gathered, the all-reduce of its largest absolute value.
void reduce_maxima(TrainingStepAssembly& step);
/// With stored operands of one scale per tensor and sequence parallelism: a transposed copy of what
/// tensor parallelism gathers, for the GEMMs of weight gradients
/// (sharding/transposed_operands.cpp).
void transpose_gathered(TrainingStepAssembly& step);
/// With the dispatcher deepep, all-to-alls of experts carry one copy of a token per rank, and
/// between nodes one per node (sharding/experts/expert_copies.hpp); the router's weights are part
/// of the same exchange: they are sorted before, and their gradients used after it.
void deduplicate_tokens(TrainingStepAssembly& step);
/// With ParallelConfig::expert_skew, scales Dim::slot of tensors with sharded experts, and so their
/// GEMMs, messages and memory, to the load of the rank with the busiest expert, the first of each
/// group; tokens on their source rank are unchanged. GEMMs and all-to-alls get that load over the
/// mean as Operation::factor, from which those of the other ranks follow
/// (sharding/experts/unequal_experts.hpp).
void load_experts(TrainingStepAssembly& step);
/// With ParallelConfig::token_counts, before tokens travel to experts ranks tell each other how
/// many go where, and the host may wait for that.
void exchange_token_counts(TrainingStepAssembly& step);
/// Attention in hops along the ring of context parallelism (sharding/ring_attention.hpp).
void circulate_keys(TrainingStepAssembly& step);
/// Attention to keys and values that are all-gathered along the sequence, again for backward, where
/// their gradients are reduce-scattered (Llama Team, arXiv 2407.21783, section 3.3.2;
/// Megatron-Core's cp_comm_type all_gather). Unfused attention gathers keys for its scores and
/// values for its context.
void gather_keys(TrainingStepAssembly& step);
/// With DiLoCo, the loss whose gradients a replica that trains apart sums is the mean over its own
/// samples.
void weigh_losses(TrainingStepAssembly& step);
/// A second forward pass for backward to read (pipeline/recompute.hpp).
void recompute_activations(TrainingStepAssembly& step);

/// Lists the trained weights of every block; ZeRO-2 shards gradients, ZeRO-3 also weights.
void find_trained_weights(TrainingStepAssembly& step);
/// ZeRO-3, FSDP: frees gathered weights after forward; backward reads a second gathered copy.
void reshard_after_forward(TrainingStepAssembly& step);
/// With PrecisionRecipe::weights_once and weights gathered per microbatch: the first GEMM that
/// reads a gathered weight casts it.
void cast_gathered_weights(TrainingStepAssembly& step);

/// A routine for the forward and the backward pass of each block, or for the two halves of
/// backward.
void make_routines(TrainingStepAssembly& step);
/// Splits the model into chunks (pipeline/chunk_positions.hpp). Embedding and head belong to the
/// first and last chunk.
/// Makes a role for each stage and adds its forward and backward calls in the order of the
/// schedule, with sends and receives between stages.
void order_pipeline(TrainingStepAssembly& step);
/// ZeRO-3, FSDP: all-gathers every block's weights before forward and before backward.
void gather_weights(TrainingStepAssembly& step);
/// With stored operands whose scales come from earlier maxima: all-reduces the maxima of a chunk
/// after each of its passes (pipeline/delayed_scales.cpp).
void reduce_delayed_scales(TrainingStepAssembly& step);
/// Casts all weights that cast_gathered_weights() does not cast once per step, before a
/// block's first microbatch.
void cast_weights(TrainingStepAssembly& step);

/// With GradientPass::zero: zeroes in all gradients of a rank before its first microbatch.
void zero_gradients(TrainingStepAssembly& step);
/// Reduces gradients over data-parallel replicas by all-reduce, or reduce-scatter with ZeRO: in
/// buckets after the last microbatch, or block by block (ZeRO-2, 3) after every microbatch or the
/// last.
void exchange_gradients(TrainingStepAssembly& step);
/// A host reduces all gradients and sends the sum back.
void average_on_host(TrainingStepAssembly& step);
/// Replicas train independently, each on the mean of its own loss.
void scale_for_averaging(TrainingStepAssembly& step);
/// Reduces the remaining gradients: of weights that several stages read, and of norms under
/// sequence parallelism.
void finish_gradients(TrainingStepAssembly& step);
/// Updates the weights, on the device or on the host. Unless updates go by bucket, each waits for
/// everything launched before it.
void update_weights(TrainingStepAssembly& step);
/// Optimizers of whole matrices: updates those of equal size together, cut by matrices over the
/// ranks that have their shards or copies.
void update_matrices(TrainingStepAssembly& step);
/// DiLoCo (Douillard et al., arXiv 2311.08105, algorithm 1): the outer gradients of one fragment,
/// what its weights were at the last outer step less what they are, are all-reduced over the
/// replicas that train apart, and their mean goes into an outer update with Nesterov momentum.
/// `overlap` outer: they are those of the start of the step and travel during it. Fragments:
/// Streaming DiLoCo (Douillard et al., arXiv 2501.18512, section 2.1), position p belonging to
/// fragment p mod F.
void take_outer_step(TrainingStepAssembly& step);
/// All-gathers weights that were updated in shards: ZeRO-1 and -2.
void gather_updated_weights(TrainingStepAssembly& step);
/// Averages the weights of independent replicas at the end of the step.
void average_weights(TrainingStepAssembly& step);
/// Every parameter server reduces its share of the gradients, updates its share of the weights and
/// sends them back.
void train_on_servers(TrainingStepAssembly& step);

/// With Overlap::ep_pairs, a forward pass and the backward pass of another microbatch go in turn,
/// cut at the all-to-alls of experts: what one sends travels while the other computes. The order in
/// a layer is that of Megatron-Core's core/models/common/model_chunk_schedule_plan.py: backward up
/// to its first all-to-all, forward up to its dispatch, backward of the experts, their forward, and
/// the rest. With ParallelConfig::delay_wgrad_compute all backward passes are cut so, and gradients
/// of attention's weights follow the first all-to-all of the layer before.
void pair_microbatches(TrainingStepAssembly& step);
/// Moves tensors and scripts into the program.
void finish_program(TrainingStepAssembly& step);
/// Assigns the communication inside the model's routines to the streams that `overlap` allows;
/// gathers for weight gradients are launched ahead of the GEMMs next to which they travel.
void assign_streams(TrainingStepAssembly& step);
/// Gives communication the traffic weight of its group.
void weigh_traffic(TrainingStepAssembly& step);

namespace step_passes {

using Step = const TrainingStepAssembly&;
using Exchange = GradientExchange;

inline constexpr auto always = [](Step) { return true; };
inline constexpr auto circulates = [](Step step) {
  return !step.program.mesh.axis("ring").empty() &&
         step.parallel.cp_kind != ContextKind::all_gather;
};
inline constexpr auto gathers_keys = [](Step step) {
  return step.parallel.cp > 1 && step.parallel.cp_kind == ContextKind::all_gather;
};
inline constexpr auto orders_parts = [](Step step) {
  return step.parallel.form.distributed_tensors && step.parallel.tp > 1;
};
inline constexpr auto reduces_maxima = [](Step step) {
  return is_narrow(step.parallel.precision) && step.parallel.recipe.reduces_maxima &&
         step.parallel.sequence_parallel && step.parallel.tp > 1;
};
inline constexpr auto scales_tensors = [](Step step) {
  return step.parallel.precision == Dtype::fp8 && step.parallel.recipe.stores_operands;
};
inline constexpr auto transposes = [](Step step) {
  return scales_tensors(step) && step.parallel.sequence_parallel && step.parallel.tp > 1;
};
inline constexpr auto delays_scales = [](Step step) {
  return scales_tensors(step) && !step.parallel.recipe.reduces_maxima;
};
inline constexpr auto has_skew = [](Step step) {
  const TransformerConfig* model = step.model.transformer();
  return model != nullptr && model->experts && step.parallel.expert_skew;
};
inline constexpr auto deduplicates = [](Step step) {
  const TransformerConfig* model = step.model.transformer();
  return model != nullptr && model->experts && step.parallel.dispatcher == Dispatcher::deepep;
};
inline constexpr auto counts_tokens = [](Step step) {
  const TransformerConfig* model = step.model.transformer();
  return model != nullptr && model->experts && step.parallel.token_counts != TokenCounts{};
};
inline constexpr auto recomputes = [](Step step) {
  return step.parallel.recompute != Recompute::none;
};
inline constexpr auto zero_3 = [](Step step) { return step.parallel.zero == 3; };
inline constexpr auto reshards = [](Step step) {
  return step.parallel.zero == 3 && step.parallel.reshard_after_forward;
};
inline constexpr auto casts_once = [](Step step) {
  return is_narrow(step.parallel.precision) && step.parallel.recipe.weights_once;
};
inline constexpr auto casts_gathered = [](Step step) { return casts_once(step) && zero_3(step); };
inline constexpr auto zeroes_gradients = [](Step step) {
  return step.parallel.passes_over_gradients(GradientPass::zero);
};
template <Exchange exchange>
inline constexpr auto exchanges_by = [](Step step) { return step.parallel.exchange == exchange; };
inline constexpr auto updates_on_ranks = [](Step step) {
  return step.parallel.exchange != Exchange::parameter_server;
};
inline constexpr auto reduces_gradients = [](Step step) {
  return step.parallel.exchange == Exchange::all_reduce || step.parallel.has_outer_loop();
};
inline constexpr auto has_outer_loop = [](Step step) { return step.parallel.has_outer_loop(); };
inline constexpr auto takes_matrices = [](Step step) {
  return step.parallel.state.takes_matrices();
};
inline constexpr auto averages = [](Step step) {
  return step.parallel.exchange == Exchange::parameter_averaging && step.ends_with_average;
};
inline constexpr auto pairs = [](Step step) { return step.parallel.overlaps(Overlap::ep_pairs); };
inline constexpr auto weighs = [](Step step) { return !step.parallel.traffic_weights.empty(); };

}  // namespace step_passes

/// What holds of the step that build_model() gives.
inline constexpr FactSet kFactsOfModel{Fact::one_device, Fact::reads_defined};

/// All passes in order.
inline constexpr std::array kStrategyPasses = [] {
  using namespace step_passes;
  using enum Fact;
  constexpr FactSet blocks_open{routines_made};  // routines copy the blocks' operations
  constexpr FactSet ordered{weights_listed, stages_ordered};
  return std::array{
      StrategyPass{.name = "shard_tensors",
                   .run = shard_tensors,
                   .applies = always,
                   .needs = {one_device},
                   .precedes = blocks_open,
                   .gives = {sharded},
                   .ends = {one_device}},
      StrategyPass{.name = "weigh_losses",
                   .run = weigh_losses,
                   .applies = has_outer_loop,
                   .needs = {sharded},
                   .precedes = {weights_listed}},
      StrategyPass{.name = "order_parts",
                   .run = order_parts,
                   .applies = orders_parts,
                   .needs = {sharded},
                   .precedes = {weights_listed}},
      StrategyPass{.name = "reduce_maxima",
                   .run = reduce_maxima,
                   .applies = reduces_maxima,
                   .needs = {sharded},
                   .precedes = {weights_listed}},
      StrategyPass{.name = "transpose_gathered",
                   .run = transpose_gathered,
                   .applies = transposes,
                   .needs = {sharded},
                   .precedes = {weights_listed}},
      StrategyPass{.name = "load_experts",
                   .run = load_experts,
                   .applies = has_skew,
                   .needs = {sharded},
                   .precedes = {weights_listed}},
      StrategyPass{.name = "deduplicate_tokens",
                   .run = deduplicate_tokens,
                   .applies = deduplicates,
                   .needs = {sharded},
                   .precedes = {weights_listed}},
      StrategyPass{.name = "exchange_token_counts",
                   .run = exchange_token_counts,
                   .applies = counts_tokens,
                   .needs = {sharded},
                   .precedes = {weights_listed}},
      StrategyPass{.name = "circulate_keys",
                   .run = circulate_keys,
                   .applies = circulates,
                   .needs = {sharded},
                   .precedes = {weights_listed}},
      StrategyPass{.name = "gather_keys",
                   .run = gather_keys,
                   .applies = gathers_keys,
                   .needs = {sharded},
                   .precedes = {weights_listed}},
      StrategyPass{.name = "recompute_activations",
                   .run = recompute_activations,
                   .applies = recomputes,
                   .needs = {sharded, reads_defined},
                   .precedes = {weights_listed}},
      StrategyPass{.name = "find_trained_weights",
                   .run = find_trained_weights,
                   .applies = always,
                   .needs = {sharded},
                   .precedes = blocks_open,
                   .gives = {weights_listed}},
      StrategyPass{.name = "reshard_after_forward",
                   .run = reshard_after_forward,
                   .applies = reshards,
                   .needs = {weights_listed},
                   .precedes = blocks_open},
      StrategyPass{.name = "cast_gathered_weights",
                   .run = cast_gathered_weights,
                   .applies = casts_gathered,
                   .needs = {weights_listed},
                   .precedes = blocks_open},
      StrategyPass{.name = "make_routines",
                   .run = make_routines,
                   .applies = always,
                   .needs = {sharded, reads_defined, weights_listed},
                   .precedes = {stages_ordered},
                   .gives = {routines_made}},
      StrategyPass{.name = "order_pipeline",
                   .run = order_pipeline,
                   .applies = always,
                   .needs = {routines_made},
                   .precedes = {gradients_whole},
                   .gives = {stages_ordered}},
      StrategyPass{.name = "gather_weights",
                   .run = gather_weights,
                   .applies = zero_3,
                   .needs = ordered,
                   .precedes = {gradients_whole}},
      StrategyPass{.name = "reduce_delayed_scales",
                   .run = reduce_delayed_scales,
                   .applies = delays_scales,
                   .needs = ordered,
                   .precedes = {gradients_whole}},
      StrategyPass{.name = "cast_weights",
                   .run = cast_weights,
                   .applies = casts_once,
                   .needs = ordered,
                   .precedes = {gradients_whole}},
      StrategyPass{.name = "zero_gradients",
                   .run = zero_gradients,
                   .applies = zeroes_gradients,
                   .needs = ordered,
                   .precedes = {gradients_whole}},
      StrategyPass{.name = "exchange_gradients",
                   .run = exchange_gradients,
                   .applies = reduces_gradients,
                   .needs = ordered,
                   .precedes = {gradients_whole}},
      StrategyPass{.name = "average_on_host",
                   .run = average_on_host,
                   .applies = exchanges_by<Exchange::host_average>,
                   .needs = ordered,
                   .precedes = {gradients_whole}},
      StrategyPass{.name = "scale_for_averaging",
                   .run = scale_for_averaging,
                   .applies = exchanges_by<Exchange::parameter_averaging>,
                   .needs = ordered,
                   .precedes = {gradients_whole}},
      StrategyPass{.name = "finish_gradients",
                   .run = finish_gradients,
                   .applies = updates_on_ranks,
                   .needs = ordered,
                   .precedes = {weights_updated},
                   .gives = {gradients_whole}},
      StrategyPass{.name = "update_weights",
                   .run = update_weights,
                   .applies = updates_on_ranks,
                   .needs = {gradients_whole},
                   .precedes = {weights_updated}},
      StrategyPass{.name = "update_matrices",
                   .run = update_matrices,
                   .applies = takes_matrices,
                   .needs = {gradients_whole},
                   .precedes = {weights_updated}},
      StrategyPass{.name = "take_outer_step",
                   .run = take_outer_step,
                   .applies = has_outer_loop,
                   .needs = {gradients_whole},
                   .precedes = {weights_updated}},
      StrategyPass{.name = "gather_updated_weights",
                   .run = gather_updated_weights,
                   .applies = updates_on_ranks,
                   .needs = {gradients_whole},
                   .precedes = {complete},
                   .gives = {weights_updated}},
      StrategyPass{.name = "average_weights",
                   .run = average_weights,
                   .applies = averages,
                   .needs = {weights_updated},
                   .precedes = {complete}},
      StrategyPass{.name = "train_on_servers",
                   .run = train_on_servers,
                   .applies = exchanges_by<Exchange::parameter_server>,
                   .needs = ordered,
                   .precedes = {weights_updated},
                   .gives = {weights_updated}},
      StrategyPass{.name = "pair_microbatches",
                   .run = pair_microbatches,
                   .applies = pairs,
                   .needs = {weights_updated},
                   .precedes = {complete}},
      StrategyPass{.name = "finish_program",
                   .run = finish_program,
                   .applies = always,
                   .needs = {weights_updated},
                   .gives = {complete},
                   .ends = {reads_defined, sharded, weights_listed, routines_made, stages_ordered,
                            gradients_whole, weights_updated}},
      StrategyPass{
          .name = "assign_streams", .run = assign_streams, .applies = always, .needs = {complete}},
      StrategyPass{
          .name = "weigh_traffic", .run = weigh_traffic, .applies = weighs, .needs = {complete}},
  };
}();

}  // namespace lockstep
