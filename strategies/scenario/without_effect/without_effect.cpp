#include "strategies/scenario/without_effect/without_effect.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "strategies/layout/scenario_names.hpp"
#include "strategies/scenario/parallel/parallel_fields.hpp"
#include "strategies/sharding/device_mesh.hpp"

namespace lockstep {

bool has_plain_mlp(const ModelConfig& model) {
  const TransformerConfig* shape = model.transformer();
  if (shape == nullptr) return std::holds_alternative<MlpConfig>(model.shape);
  for (std::int64_t i = 0; i < shape->layers; ++i)
    if (!has_experts(*shape, i)) return true;
  return false;
}

namespace {

class Values {
 public:
  Values(const ModelConfig& model, const ParallelConfig& parallel, int gpus_per_node)
      : transformer_{model.transformer()},
        model_{model},
        plan_{parallel},
        replicas_{parallel.dp * parallel.cp * parallel.stage_copies() / parallel.outer_degree()} {
    ring_ = plan_.cp / std::max(1, ulysses_degree(plan_, gpus_per_node));
  }

  [[nodiscard]] std::vector<WithoutEffect> found() {
    check_order();
    check_recipe();
    check_recomputation();
    check_tensor();
    check_fields();
    check_sharding();
    check_pipeline();
    check_context();
    check_overlap();
    check_times();
    check_exchange();
    check_optimizer();
    check_experts();
    return std::move(out_);
  }

 private:
  template <class... Args>
  void refuse(std::string_view key, fmt::format_string<Args...> text, Args&&... args) {
    add(key, fmt::format(text, std::forward<Args>(args)...), true);
  }
  template <class... Args>
  void report(std::string_view key, fmt::format_string<Args...> text, Args&&... args) {
    add(key, fmt::format(text, std::forward<Args>(args)...), false);
  }
  void add(std::string_view key, std::string message, bool refused) {
    out_.push_back({fmt::format("parallel.{}", key), std::move(message), refused});
  }

  [[nodiscard]] int degree(std::string_view axis) const {
    if (axis == "tp") return plan_.tp;
    if (axis == "cp") return plan_.cp;
    return axis == "dp" ? plan_.dp : plan_.pp;
  }

  /// Axes of several ranks, in the order given.
  [[nodiscard]] std::vector<std::string> axes(const std::vector<std::string>& order) const {
    std::vector<std::string> out;
    for (const std::string& axis : order)
      if (degree(axis) > 1) out.push_back(axis);
    return out;
  }

  void check_order() {
    const ParallelConfig usual;
    if (plan_.order != usual.order && axes(plan_.order) == axes(usual.order))
      report("order", "axes of more than one rank stand in this order by default");
  }

  /// A recipe that leaves no layer to run in its type, nor the output layer.
  void check_recipe() {
    const PrecisionRecipe& recipe = plan_.recipe;
    const std::int64_t wide = std::int64_t{recipe.first_layers} + recipe.last_layers;
    if (transformer_ == nullptr || !is_narrow(plan_.precision) || recipe.output_layer) return;
    const std::int64_t encoder = transformer_->encoder ? transformer_->encoder->layers : 0;
    if (wide == 0 || wide < std::max(transformer_->layers, encoder)) return;
    refuse(
        "precision",
        "GEMMs of first_layers = {} and last_layers = {} of {} run as activations, and the model "
        "has {}{} layers: nothing would run in {}",
        recipe.first_layers, recipe.last_layers, recipe.id,
        encoder > 0 ? fmt::format("{} and ", encoder) : "", transformer_->layers,
        to_string(plan_.precision));
  }

  void check_recomputation() {
    const std::string_view name = name_of(recompute_names(), plan_.recompute);
    const std::set<RecomputeModule> usual = ParallelConfig{}.recompute_modules;
    if (plan_.recompute != Recompute::selective) {
      if (plan_.recompute_modules != usual)
        report("recompute_modules", "modules are of selective recomputation; recompute is {}",
               name);
      return;
    }
    for (const RecomputeModule module : plan_.recompute_modules) check_module(module);
    const bool has_core =
        transformer_ != nullptr && transformer_->attention != AttentionKind::flash;
    if (has_core || !plan_.recompute_modules.contains(RecomputeModule::core_attn)) return;
    constexpr std::string_view kWhy =
        "the core of unfused attention again; fused attention keeps no scores and does so in any "
        "case";
    if (plan_.recompute_modules == usual)
      report("recompute", "{} does {}", name, kWhy);
    else
      report("recompute_modules", "core_attn does {}", kWhy);
  }

  /// Refuses modules of parts that the model lacks, and reports those within another.
  void check_module(RecomputeModule module) {
    const std::string_view name = name_of(module_names(), module);
    if (const std::string_view why = missing_for(module); !why.empty())
      refuse("recompute_modules", "{} in recompute_modules, but {}", name, why);
    const bool inner =
        module == RecomputeModule::moe_act || module == RecomputeModule::shared_experts;
    if (inner && plan_.recompute_modules.contains(RecomputeModule::moe))
      report("recompute_modules", "{} is a part of moe, which is done again as a whole", name);
  }

  /// Why the model has no such module; empty if it has.
  [[nodiscard]] std::string_view missing_for(RecomputeModule module) const {
    const bool experts = transformer_ != nullptr && transformer_->experts;
    switch (module) {
      case RecomputeModule::core_attn:
        return {};
      case RecomputeModule::layernorm:
        if (transformer_ == nullptr) return "the model is no transformer";
        return transformer_->norm_place == NormPlace::after
                   ? "the model has no norms before attention and MLP"
                   : "";
      case RecomputeModule::mla_up_proj:
        return transformer_ == nullptr || !transformer_->latent
                   ? "the model has no latent attention"
                   : "";
      case RecomputeModule::mlp:
        return has_plain_mlp(model_) ? "" : "no layer of the model has a plain MLP";
      case RecomputeModule::moe:
      case RecomputeModule::moe_act:
        return experts ? "" : "the model has no experts";
      case RecomputeModule::shared_experts:
        return experts && transformer_->experts->shared > 0 ? ""
                                                            : "the model has no shared experts";
    }
    return {};
  }

  void check_tensor() {
    if (plan_.sequence_parallel && plan_.tp == 1)
      report("sequence_parallel", "cuts what tensor parallelism leaves whole: tp is 1");
  }

  /// Values that depend on the layout alone.
  void check_fields() {
    for (const ParallelField& field : parallel_fields()) {
      if (!field.idle) continue;
      if (const auto why = field.idle(plan_)) refuse(field.key, "{}", *why);
    }
  }

  void check_sharding() {
    if (plan_.zero == 0) return;
    if (plan_.zero >= 2 && plan_.pp == 1 && plan_.microbatches() == 1 && replicas_ > 1)
      report("reduce_gradients", "the only microbatch of a step is its last: {}", batch());
    if (plan_.zero >= 2 && !has_sums_of_replicas())
      report("reduce_replicas",
             "shards are summed over replicas with shard_ranks below {}, and reductions in every "
             "microbatch of several",
             together());
    if (replicas_ == 1) {
      report("zero", "zero = {} shards over {}, which is 1", plan_.zero, together());
      const std::string alone = fmt::format("nothing is sharded: {} is 1", together());
      if (plan_.zero >= 2) report("reduce_gradients", "{}", alone);
      if (!plan_.scatter_gradients) report("scatter_gradients", "{}", alone);
      if (!plan_.reshard_after_forward) report("reshard_after_forward", "{}", alone);
      if (!plan_.prefetch) report("prefetch", "{}", alone);
    } else if (plan_.zero == 3 && !plan_.prefetch && !plan_.overlaps(Overlap::dp_parameters))
      report("prefetch", "weights are gathered ahead only where overlap names dp_parameters");
  }

  /// Whether reduce_replicas makes a difference.
  [[nodiscard]] bool has_sums_of_replicas() const {
    return plan_.shard_ranks > 0 && plan_.shard_ranks < replicas_ && plan_.microbatches() > 1 &&
           plan_.scatters_every_microbatch();
  }

  /// The ranks that sum gradients.
  [[nodiscard]] std::string_view together() const {
    return plan_.outer_degree() > 1 ? "dp * cp / outer_replicas" : "dp * cp";
  }

  [[nodiscard]] std::string batch() const {
    return fmt::format("global_batch = {} is micro_batch * dp", plan_.global_batch);
  }

  void check_pipeline() {
    if (plan_.pp > 1) {
      if (plan_.short_edges && plan_.pp * plan_.vpp == 2)
        report("short_edges", "both of two parts are at an edge");
      return;
    }
    if (plan_.schedule != PipelineOrder::none)
      report("schedule", "{} orders the work of several stages: pp is 1",
             name_of(pipeline_names(), plan_.schedule));
  }

  void check_context() {
    if (plan_.zigzag) return;
    if (ring_ == 1) {
      refuse("zigzag", "zigzag says how a ring cuts sequences, and there is no ring: cp = {}{}",
             plan_.cp, plan_.cp > 1 ? ", all of them in one all-to-all" : "");
    } else if (transformer_ != nullptr && !transformer_->causal) {
      refuse("zigzag", "a zigzag balances causal attention; causal is false");
    }
  }

  void check_overlap() {
    for (const auto& [what, why] : idle_overlap())
      report("overlap", "\"{}\" hides nothing: {}", name_of(overlap_names(), what), why);
  }

 public:
  /// Kinds of traffic in `overlap` that the layout does not have.
  [[nodiscard]] std::vector<std::pair<Overlap, std::string_view>> idle_overlap() const {
    std::vector<std::pair<Overlap, std::string_view>> out;
    const auto idle = [&](Overlap what, bool has_none, std::string_view why) {
      if (plan_.overlaps(what) && has_none) out.emplace_back(what, why);
    };
    const bool averages = plan_.exchange == GradientExchange::parameter_averaging;
    const bool apart = plan_.outer_degree() > 1;
    idle(Overlap::cp, plan_.cp == 1, "cp is 1");
    idle(Overlap::dp_gradients, replicas_ == 1 && !apart, "no gradients are summed, dp * cp is 1");
    idle(Overlap::dp_gradients, replicas_ > 1 ? averages : apart,
         "replicas that train apart sum no gradients");
    idle(Overlap::dp_parameters, replicas_ == 1,
         apart ? "no weights are gathered, dp * cp / outer_replicas is 1"
               : "no weights are gathered, dp * cp is 1");
    idle(Overlap::dp_parameters, replicas_ > 1 && plan_.zero == 0,
         "no weights are gathered, zero is 0");
    const bool experts = transformer_ != nullptr && transformer_->experts;
    idle(Overlap::ep, !experts || plan_.ep == 1,
         experts ? "every rank has all experts, ep is 1" : "the model has no experts");
    idle(Overlap::ep_pairs, !experts || plan_.ep == 1,
         experts ? "every rank has all experts, ep is 1" : "the model has no experts");
    idle(Overlap::ep_pairs, experts && plan_.ep > 1 && plan_.microbatches() == 1,
         "there is one microbatch");
    idle(Overlap::hsdp, !has_hybrid_shards(), "all replicas are shards of each other");
    idle(Overlap::hsdp, has_hybrid_shards() && plan_.zero == 1 && plan_.updates_by_bucket(),
         "sums of buckets hide already: update is by_bucket");
    idle(Overlap::outer, !plan_.has_outer_loop(), "there are no outer steps without diloco");
    idle(Overlap::outer, plan_.has_outer_loop() && plan_.outer_degree() == 1,
         "there is one replica: no others train apart");
    idle(Overlap::pp, plan_.pp == 1, "pp is 1");
    idle(Overlap::tp, plan_.tp == 1, "tp is 1");
    idle(Overlap::tp_backward, plan_.tp == 1, "tp is 1");
    idle(Overlap::tp_backward, plan_.tp > 1 && plan_.overlaps(Overlap::tp),
         "\"tp\" includes that traffic");
    return out;
  }

 private:
  /// Sums over the replicas of shards.
  [[nodiscard]] bool has_hybrid_shards() const {
    const bool sums_shards = plan_.zero > 1 || (plan_.zero == 1 && plan_.scatter_gradients);
    return sums_shards && plan_.shard_ranks > 0 && plan_.shard_ranks < replicas_;
  }

  /// When weights are updated.
  void check_times() {
    const bool alone =
        replicas_ * plan_.outer_degree() * plan_.tp * plan_.pp == 1 && !plan_.state.offload;
    if (plan_.updates_by_bucket() && alone)
      report("update", "nothing is summed or copied before the update: one rank");
  }

  void check_exchange() {
    const ParallelConfig usual;
    const bool averages = plan_.averages();
    const std::string_view name = name_of(exchange_names(), plan_.exchange);
    if (averages && (plan_.dp == 1 || plan_.outer_replicas == 1)) {
      const std::string_view one = plan_.dp == 1 ? "dp" : "outer_replicas";
      report("exchange", "{} needs replicas: {} is 1", name, one);
      const auto idle = [&](std::string_view key, bool given) {
        if (given) report(key, "nothing is averaged: {} is 1", one);
      };
      idle("average_every", plan_.average_every > 1);
      idle("outer_gradients", plan_.outer_gradients != usual.outer_gradients);
      idle("fragments", plan_.fragments > 1);
    }
    if (plan_.bucket != plan_.bucket_form.usual) {
      if (replicas_ == 1) {
        report("bucket", "no gradients are summed: {} is 1", together());
      } else if (plan_.exchange != GradientExchange::all_reduce && !plan_.has_outer_loop()) {
        report("bucket", "{} goes weight by weight, without buckets", name);
      } else if (plan_.zero >= 2) {
        report("bucket", "ZeRO-{} reduces the gradients of one layer at a time", plan_.zero);
      }
    }
    if (plan_.state.optimizer == Optimizer::sgd && plan_.state.moments != usual.state.moments)
      refuse("state.moments", "moments = {}, but sgd keeps none",
             name_of(stored_names(), plan_.state.moments));
  }

  void check_optimizer() {
    const StateConfig usual;
    const StateConfig& state = plan_.state;
    if (state.optimizer != Optimizer::muon &&
        state.newton_schulz_steps != usual.newton_schulz_steps)
      refuse("state.newton_schulz_steps", "newton_schulz_steps = {} is for muon; optimizer is {}",
             state.newton_schulz_steps, name_of(optimizer_names(), state.optimizer));
    if (state.muon_syrk && state.optimizer != Optimizer::muon)
      refuse("state.muon_use_syrk", "muon_use_syrk is for muon; optimizer is {}",
             name_of(optimizer_names(), state.optimizer));
    if (state.muon_blocks != usual.muon_blocks) {
      const std::string_view mode = name_of(muon_blocks_names(), state.muon_blocks);
      if (state.optimizer != Optimizer::muon) {
        refuse("state.muon_tp_mode", "muon_tp_mode = {} is for muon; optimizer is {}", mode,
               name_of(optimizer_names(), state.optimizer));
      } else if (plan_.tp == 1) {
        refuse("state.muon_tp_mode", "muon_tp_mode = {}, but no matrix is cut: tp is 1", mode);
      }
    }
    if (state.optimizer == Optimizer::soap) return;
    if (state.precondition_frequency != usual.precondition_frequency)
      refuse("state.precondition_frequency",
             "precondition_frequency = {} is for soap; optimizer is {}",
             state.precondition_frequency, name_of(optimizer_names(), state.optimizer));
    if (state.max_preconditioner_dim != usual.max_preconditioner_dim)
      refuse("state.max_preconditioner_dim",
             "max_preconditioner_dim = {} is for soap; optimizer is {}",
             state.max_preconditioner_dim, name_of(optimizer_names(), state.optimizer));
  }

  void check_experts() {
    if (transformer_ != nullptr && transformer_->experts) {
      if (transformer_->experts->groups > 1 && plan_.dispatcher != Dispatcher::deepep)
        out_.push_back({"model.experts.groups",
                        "every expert gets its own copy of a token, wherever it is: dispatcher is "
                        "alltoall"});
      return;
    }
    if (plan_.dispatcher != Dispatcher::all_to_all)
      refuse("dispatcher", "dispatcher = {}, but the model has no experts",
             name_of(dispatcher_names(), plan_.dispatcher));
    if (plan_.capacity_factor > 0)
      refuse("capacity_factor", "capacity_factor = {}, but the model has no experts",
             plan_.capacity_factor);
    if (plan_.expert_skew)
      refuse("expert_skew", "expert_skew = {}, but the model has no experts", *plan_.expert_skew);
  }

  const TransformerConfig* transformer_;
  const ModelConfig& model_;
  const ParallelConfig& plan_;
  int replicas_;
  int ring_ = 1;
  std::vector<WithoutEffect> out_;
};

}  // namespace

std::set<Overlap> kinds_with_effect(const std::set<Overlap>& kinds, const ModelConfig& model,
                                    ParallelConfig parallel, int gpus_per_node) {
  parallel.overlap = kinds;
  std::set<Overlap> out = kinds;
  for (const auto& idle : Values{model, parallel, gpus_per_node}.idle_overlap())
    out.erase(idle.first);
  return out;
}

std::vector<WithoutEffect> values_without_effect(const ModelConfig& model,
                                                 const ParallelConfig& parallel,
                                                 int gpus_per_node) {
  return Values{model, parallel, gpus_per_node}.found();
}

}  // namespace lockstep
