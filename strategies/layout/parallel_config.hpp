#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/program/operation.hpp"
#include "strategies/models/model_form.hpp"
#include "strategies/models/precision_recipe.hpp"

/// The `parallel` part of a scenario: how a model is distributed over ranks.
namespace lockstep {

enum class Recompute : std::uint8_t {
  none,
  selective,          // some modules of a layer: RecomputeModule
  every_second_gemm,  // all but attention and the first, third, ... GEMM of a layer
  every_second_layer,
  full
};
/// What selective recomputation may do again, as Megatron-Core's recompute_modules: the core of
/// attention; norms before attention and MLP; of latent attention norms and up-projections of what
/// is compressed, with their rotation; plain MLPs; experts with their router, dispatch and shared
/// experts; the activation function of experts; shared experts.
enum class RecomputeModule : std::uint8_t {
  core_attn,
  layernorm,
  mla_up_proj,
  mlp,
  moe,
  moe_act,
  shared_experts
};
enum class PipelineOrder : std::uint8_t {
  none,
  naive,
  gpipe,
  one_f_one_b,
  interleaved,
  zb_h1,
  zb_h2,
  zb_1p,
  zb_2p,
  zb_v,
  v_half,
  v_min,
  dualpipe_v,
  dualpipe
};
enum class ContextKind : std::uint8_t { ring, ulysses, both, all_gather };
/// How gradients are reduced over data-parallel ranks.
enum class GradientExchange : std::uint8_t {
  all_reduce,
  parameter_server,
  host_average,
  parameter_averaging,
  diloco  // all-reduce within each of the replicas that train apart, and an outer loop over these
};
/// Traffic that may overlap with computation. hsdp: gradient reduction over the replicas of hybrid
/// sharding; outer: DiLoCo's outer gradients, which are then applied at the end of the step; ep:
/// all-to-alls of experts; ep_pairs: these during computation of another microbatch, one's forward
/// pass being paired with the other's backward pass; tp_backward: of tp only what column-parallel
/// layers gather and reduce in backward, which needs no GEMMs in chunks.
enum class Overlap : std::uint8_t {
  cp,
  dp_gradients,
  dp_parameters,
  ep,
  ep_pairs,
  hsdp,
  outer,
  pp,
  tp,
  tp_backward
};
/// When ZeRO-2 and ZeRO-3 reduce-scatter gradients. last_microbatch: unsharded gradients are held
/// and accumulated until then.
enum class GradientReduction : std::uint8_t { every_microbatch, last_microbatch };
/// When a rank updates its weights: after all of its gradients are reduced, or bucket by bucket
/// while others are still being reduced.
enum class UpdateStart : std::uint8_t { after_all, by_bucket };

/// Passes over a rank's whole gradients that ZeRO-0 and -1 need besides their sum: zeroes before
/// the first microbatch; a factor and a check for numbers that are not finite before each
/// reduction.
enum class GradientPass : std::uint8_t { zero, scale, check };

/// How tokens reach their experts: one copy for each of them (NCCL's all-to-all), or one for each
/// rank and between nodes one for each node (DeepEP).
enum class Dispatcher : std::uint8_t { all_to_all, deepep };

/// What goes with an all-to-all of tokens where ranks do not know how many each gets, by the
/// software stack.
struct TokenCounts {
  /// How ranks tell each other; none: they do not.
  std::optional<Collective> exchange{};
  bool host_waits = false;  // for them, before it launches the all-to-all

  friend bool operator==(const TokenCounts&, const TokenCounts&) = default;
};

/// How gradients are cut into buckets (ZeRO-0 and -1), by the software stack.
struct BucketForm {
  Bytes usual{25'000'000};             // the stack's size
  std::optional<Bytes> first{};        // of the first bucket
  bool whole_without_overlap = false;  // one bucket where gradients do not overlap
  /// With a pipeline one bucket per model chunk, except for the first chunk; several chunks of a
  /// stage at the same time on all stages.
  bool whole_chunks = false;
};

/// How ranks of a tensor-parallel group orthogonalize the matrices that are cut over them: each
/// rank all of each matrix, or each rank its block, with Gram matrices all-reduced in every
/// iteration, or each its block as a matrix of its own (Megatron-Core, muon_tp_mode).
enum class MuonBlocks : std::uint8_t { duplicated, distributed, blockwise };

/// Degrees of tensor parallelism, for attention and MLPs and for experts, that cut matrices.
struct MatrixCuts {
  int tp = 1;
  int etp = 1;
};

/// Precision of model states, per parameter; 2 + 2 + 12 bytes by default.
struct StateConfig {
  Dtype weights = Dtype::bf16;
  Dtype gradients = Dtype::bf16;
  bool master = true;  // keep an fp32 copy of the weights unless they are fp32
  Optimizer optimizer = Optimizer::adam;
  Dtype moments = Dtype::fp32;
  bool offload = false;         // optimizer states and update on the host
  int newton_schulz_steps = 5;  // muon
  MuonBlocks muon_blocks = MuonBlocks::duplicated;
  bool muon_syrk = false;
  /// blockwise, of a device that has whole matrices: those of the layout that it stands for.
  MatrixCuts muon_cuts{};
  int precondition_frequency = 10;  // soap: steps between two bases of its preconditioners
  std::int64_t max_preconditioner_dim = 10000;  // soap: longer sides have no preconditioner

  /// Whether matrices of layers have an optimizer that takes them whole.
  [[nodiscard]] bool takes_matrices() const {
    return optimizer == Optimizer::muon || optimizer == Optimizer::soap;
  }
};

/// Moments that the optimizer keeps of a parameter; `matrix`: of one that is taken whole.
[[nodiscard]] constexpr int moments_of(const StateConfig& state, bool matrix) {
  switch (state.optimizer) {
    case Optimizer::adam:
    case Optimizer::soap:
      return 2;
    case Optimizer::momentum:
      return 1;
    case Optimizer::muon:
      return matrix ? 1 : 2;
    default:
      return 0;
  }
}

struct ParallelConfig {
  int dp = 1, tp = 1, pp = 1, cp = 1, ep = 1;
  int etp = 0;  // tensor-parallel degree of experts; 0: tp
  int vpp = 1;  // chunks per stage
  /// Interleaved: microbatches that pass a chunk one after the other, before the next chunk; 0: pp.
  int microbatch_group = 0;
  /// The axes in rank order, the fastest-varying first.
  std::vector<std::string> order{"tp", "cp", "dp", "pp"};
  std::int64_t micro_batch = 1;   // sequences
  std::int64_t global_batch = 1;  // sequences
  Recompute recompute = Recompute::none;
  std::set<RecomputeModule> recompute_modules{RecomputeModule::core_attn};  // of selective
  int zero = 0;
  int shard_ranks = 0;            // size of a ZeRO sharding group, a part of dp * cp; 0: all of it
  bool scatter_gradients = true;  // ZeRO-1: reduce-scatter; false: all-reduce, then slice
  GradientReduction reduce_gradients = GradientReduction::every_microbatch;  // ZeRO-2, -3
  /// Of reductions into shards in every microbatch those after which replicas of shards are summed.
  GradientReduction reduce_replicas = GradientReduction::last_microbatch;
  bool reshard_after_forward = true;  // ZeRO-3
  bool prefetch = true;  // ZeRO-3: gather the next layer's weights while this one computes
  bool sequence_parallel = false;
  Dtype precision = Dtype::bf16;  // of GEMMs
  PrecisionRecipe recipe{};       // of GEMMs in at most 8 bits
  PipelineOrder schedule = PipelineOrder::none;
  bool short_edges = false;
  std::vector<int> stages{};  // layers per chunk, in pipeline order; empty: equal
  ContextKind cp_kind = ContextKind::ring;
  int ulysses = 0;     // with `both`: ranks per all-to-all; 0: those that share a node
  bool zigzag = true;  // ring: each rank holds one early and one late part of a causal sequence
  std::set<Overlap> overlap{};
  /// ep_pairs: gradients of weights of experts and attention follow the launch of the next
  /// all-to-all (Megatron-Core's delay_wgrad_compute).
  bool delay_wgrad_compute = false;
  UpdateStart update = UpdateStart::after_all;
  GradientExchange exchange = GradientExchange::all_reduce;
  int servers = 1;         // number of parameter servers
  int average_every = 1;   // steps between averages of parameters, or between outer steps
  int outer_replicas = 0;  // DiLoCo: replicas that train apart, a divisor of dp; 0: dp
  int fragments = 1;       // DiLoCo: parts of the layers that have outer steps of their own
  Dtype outer_gradients = Dtype::fp32;  // DiLoCo: as they are all-reduced
  bool outer_on_host = false;           // DiLoCo: the host keeps the weights of the last outer step
  Bytes bucket{25'000'000};             // of gradients, per reduction
  BucketForm bucket_form{};             // set by the software stack
  std::set<GradientPass> gradient_passes{};  // the same
  std::optional<Dtype> shards{};             // the same; see has_wide_shards()
  StateConfig state{};
  ModelForm form{};            // set by the software stack
  double capacity_factor = 0;  // of experts; 0: dropless
  Dispatcher dispatcher = Dispatcher::all_to_all;
  int dispatch_sms = 20;       // deepep: streaming multiprocessors of its kernels
  TokenCounts token_counts{};  // set by the software stack
  /// Along tp each rank sends a part of a gradient that all have to the stage before; false: all
  /// of it. Set by the software stack.
  bool gradient_messages_in_parts = true;
  bool pairs_recompute_experts = true;  // ep_pairs; set by the software stack
  /// Load of the busiest expert over the mean load, limited by the capacity factor; none: balanced
  /// experts, or full ones with a capacity factor.
  std::optional<double> expert_skew{};
  /// Algorithm per group (tp, cp, ep, dp, hsdp, embedding); NCCL's choice for all others.
  std::map<std::string, std::string> algorithms{};
  /// Traffic weight per group (the same, and pp); 1 for all others.
  std::map<std::string, TrafficWeight> traffic_weights{};

  /// Number of ranks. Requires a product of degrees that fits an int (layout_problems()).
  [[nodiscard]] int ranks() const { return dp * pp * cp * tp; }
  [[nodiscard]] int expert_tp() const { return etp > 0 ? etp : tp; }
  [[nodiscard]] std::int64_t microbatches() const { return global_batch / (micro_batch * dp); }
  [[nodiscard]] bool overlaps(Overlap what) const { return overlap.contains(what); }
  /// Whether gradients are summed from buffers that ranks hold whole, with such passes over them.
  [[nodiscard]] bool passes_over_gradients(GradientPass what) const {
    return zero < 2 && exchange == GradientExchange::all_reduce && gradient_passes.contains(what);
  }
  /// ZeRO-3: shards of weights and gradients are kept in `shards`, so that those of weights are the
  /// optimizer's: weights are cast before they are gathered, and gradients before they are reduced,
  /// which is in the precision of the states' gradients.
  [[nodiscard]] bool has_wide_shards() const {
    const bool half = state.weights == Dtype::bf16 || state.weights == Dtype::fp16;
    const std::int64_t replicas = std::int64_t{dp} * cp * stage_copies();
    const bool several = shard_ranks != 1 && replicas > outer_degree();
    return zero == 3 && several && shards && half && state.master && !state.offload;
  }
  /// Precision in which backward passes write gradients of weights.
  [[nodiscard]] Dtype written_gradients() const {
    return has_wide_shards() && scatters_every_microbatch() ? state.weights : state.gradients;
  }
  /// Whether all-to-alls of experts have a stream of their own.
  [[nodiscard]] bool overlaps_experts() const {
    return overlaps(Overlap::ep) || overlaps(Overlap::ep_pairs);
  }
  /// Copies of each stage's weights in a pipeline: two where microbatches enter at both of its
  /// ends, one on stage s and one on stage pp - 1 - s.
  [[nodiscard]] int stage_copies() const {
    return pp > 1 && pp % 2 == 0 && schedule == PipelineOrder::dualpipe ? 2 : 1;
  }
  /// Backward in two halves: input gradients and weight gradients (zero-bubble schedules).
  [[nodiscard]] bool splits_backward() const { return pp > 1 && schedule >= PipelineOrder::zb_h1; }
  /// Whether gradients of weights have calls of their own: all of them, or those of attention.
  [[nodiscard]] bool calls_weight_gradients() const {
    return splits_backward() || delay_wgrad_compute;
  }
  [[nodiscard]] bool has_outer_loop() const { return exchange == GradientExchange::diloco; }
  /// Replicas that train apart between outer steps.
  [[nodiscard]] int outer_degree() const {
    if (!has_outer_loop()) return 1;
    return outer_replicas > 0 ? outer_replicas : dp;
  }
  /// Whether some steps end with an average of parameters, or an outer step, and others do not.
  [[nodiscard]] bool averages() const {
    return exchange == GradientExchange::parameter_averaging || has_outer_loop();
  }
  /// The fragment whose parameters are averaged, or take an outer step, at the end of step `step`
  /// (1, 2, ...); none: no parameters do. Fragments take turns, H / F steps apart, the last in step
  /// H = average_every.
  [[nodiscard]] std::optional<int> synchronized_fragment(std::int64_t step) const {
    for (int fragment = 0; fragment < fragments; ++fragment)
      if ((step - std::int64_t{fragment + 1} * average_every / fragments) % average_every == 0)
        return fragment;
    return std::nullopt;
  }
  [[nodiscard]] bool updates_by_bucket() const { return update == UpdateStart::by_bucket; }
  /// Whether gradients are reduce-scattered after every microbatch.
  [[nodiscard]] bool scatters_every_microbatch() const {
    return zero >= 2 && reduce_gradients == GradientReduction::every_microbatch;
  }
  /// Whether reduced shards of gradients are summed over their replicas in every microbatch, before
  /// they are added up.
  [[nodiscard]] bool sums_every_microbatch() const {
    return scatters_every_microbatch() && microbatches() > 1 &&
           reduce_replicas == GradientReduction::every_microbatch;
  }
};

}  // namespace lockstep
