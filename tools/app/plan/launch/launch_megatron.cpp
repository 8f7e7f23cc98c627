#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <variant>

#include "strategies/layout/scenario_names.hpp"
#include "strategies/sharding/device_mesh.hpp"
#include "tools/app/plan/launch/launch_writers.hpp"

namespace lockstep::app {

namespace {

using Value = std::variant<bool, std::int64_t, std::string>;

/// A setting of Megatron-Core: its argument (training/arguments.py) and its place in Megatron
/// Bridge's configuration. An argument of a truth has no value: `flag` is what states this one;
/// empty: it is the default of arguments.py.
struct Setting {
  std::string flag;
  std::string key;  // "ddp.overlap_grad_reduce"; empty: Bridge needs none
  Value value;
  bool bare = false;  // the flag has no value
};

/// What Megatron-LM and Megatron Bridge, which train with the same core, are given.
class MegatronSettings {
 public:
  explicit MegatronSettings(const Scenario& scenario)
      : scenario_{scenario}, of_{scenario.parallel} {
    degrees();
    pipeline();
    context();
    experts();
    batch();
    recomputation();
    states();
    precision();
    overlap();
    order();
    others();
  }

  [[nodiscard]] const std::vector<Setting>& all() const { return all_; }
  [[nodiscard]] const std::vector<std::string>& left_out() const { return left_out_; }
  [[nodiscard]] bool is_fsdp() const { return fsdp_; }

 private:
  void number(std::string flag, std::string key, std::int64_t value) {
    all_.push_back({std::move(flag), std::move(key), value});
  }
  void text(std::string flag, std::string key, std::string value) {
    all_.push_back({std::move(flag), std::move(key), std::move(value)});
  }
  void truth(std::string flag, std::string key, bool value = true) {
    all_.push_back({std::move(flag), std::move(key), value, true});
  }
  void leave_out(std::string what) { left_out_.push_back(std::move(what)); }

  void degrees() {
    number("--tensor-model-parallel-size", "model.tensor_model_parallel_size", of_.tp);
    number("--pipeline-model-parallel-size", "model.pipeline_model_parallel_size", of_.pp);
    if (of_.sequence_parallel) truth("--sequence-parallel", "model.sequence_parallel");
  }

  void pipeline() {
    if (of_.pp == 1) return;
    if (of_.schedule != PipelineOrder::one_f_one_b && of_.schedule != PipelineOrder::interleaved)
      leave_out(fmt::format("schedule {}: Megatron-Core has 1F1B and the interleaved one",
                            name_of(pipeline_names(), of_.schedule)));
    if (of_.microbatch_group > 0)
      number("--microbatch-group-size-per-virtual-pipeline-stage",
             "model.microbatch_group_size_per_vp_stage", of_.microbatch_group);
    const std::vector<int> layers = layers_by_chunk(scenario_);
    if (!has_unequal_chunks(of_)) {
      if (of_.vpp == 1) return;
      all_.push_back({"--num-layers-per-virtual-pipeline-stage", "", std::int64_t{layers.front()}});
      number("", "model.virtual_pipeline_model_parallel_size", of_.vpp);
    } else if (of_.vpp == 1 && of_.stages.empty()) {
      number("--decoder-first-pipeline-num-layers", "model.num_layers_in_first_pipeline_stage",
             layers.front());
      number("--decoder-last-pipeline-num-layers", "model.num_layers_in_last_pipeline_stage",
             layers.back());
    } else {
      text("--pipeline-model-parallel-layout", "model.pipeline_model_parallel_layout",
           pipeline_layout_text(layers, prediction_layers()));
      // Arguments take the number of chunks from the layout.
      if (of_.vpp > 1) number("", "model.virtual_pipeline_model_parallel_size", of_.vpp);
    }
  }

  /// Transformer Engine's context parallelism: p2p is the ring.
  void context() {
    if (of_.cp == 1) return;
    number("--context-parallel-size", "model.context_parallel_size", of_.cp);
    switch (of_.cp_kind) {
      case ContextKind::ring:
        text("--cp-comm-type", "model.cp_comm_type", "p2p");
        if (!of_.zigzag) leave_out("a ring without balanced chunks: they are always balanced");
        if (!of_.overlaps(Overlap::cp))
          leave_out("a ring that does not overlap: Transformer Engine's always does");
        break;
      case ContextKind::ulysses:
        text("--cp-comm-type", "model.cp_comm_type", "a2a");
        break;
      case ContextKind::both:
        text("--cp-comm-type", "model.cp_comm_type", "a2a+p2p");
        two_levels();
        break;
      case ContextKind::all_gather:
        text("--cp-comm-type", "model.cp_comm_type", "all_gather");
        break;
    }
  }

  /// All-to-alls within the first size, a ring over the second.
  void two_levels() {
    const int inner = ulysses_degree(of_, scenario_.cluster.cluster.gpus_per_node());
    all_.push_back(
        {"--hierarchical-context-parallel-sizes", "", fmt::format("{} {}", inner, of_.cp / inner)});
    text("", "model.hierarchical_context_parallel_sizes",
         fmt::format("[{}, {}]", inner, of_.cp / inner));
  }

  void experts() {
    const TransformerConfig* shape = scenario_.model.transformer();
    if (shape == nullptr || !shape->experts) return;
    number("--expert-model-parallel-size", "model.expert_model_parallel_size", of_.ep);
    number("--expert-tensor-parallel-size", "model.expert_tensor_parallel_size", of_.expert_tp());
    if (of_.ep > 1) dispatcher();
    if (shape->experts->groups > 1) {
      number("--moe-router-num-groups", "model.moe_router_num_groups", shape->experts->groups);
      number("--moe-router-group-topk", "model.moe_router_group_topk", shape->experts->group_top_k);
    }
    if (of_.capacity_factor > 0)
      text("--moe-expert-capacity-factor", "model.moe_expert_capacity_factor",
           fmt::format("{}", of_.capacity_factor));
  }

  void dispatcher() {
    const bool deepep = of_.dispatcher == Dispatcher::deepep;
    text("--moe-token-dispatcher-type", "model.moe_token_dispatcher_type",
         deepep ? "flex" : "alltoall");
    if (!deepep) return;
    text("--moe-flex-dispatcher-backend", "model.moe_flex_dispatcher_backend", "deepep");
    number("--moe-deepep-num-sms", "model.moe_deepep_num_sms", of_.dispatch_sms);
  }

  void batch() {
    number("--micro-batch-size", "train.micro_batch_size", of_.micro_batch);
    number("--global-batch-size", "train.global_batch_size", of_.global_batch);
    if (scenario_.model.is_decoder())
      number("--seq-length", "model.seq_length", scenario_.model.transformer()->sequence);
    else
      leave_out("the model: these flags are of Megatron-Core's GPT");
    if (prediction_layers() > 0)
      number("--mtp-num-layers", "model.mtp_num_layers", prediction_layers());
  }

  [[nodiscard]] std::int64_t prediction_layers() const {
    const TransformerConfig* shape = scenario_.model.transformer();
    return shape != nullptr && shape->mtp ? shape->mtp->layers : 0;
  }

  void recomputation() {
    const auto granularity = [this](const char* value) {
      text("--recompute-granularity", "model.recompute_granularity", value);
    };
    switch (of_.recompute) {
      case Recompute::none:
        break;
      case Recompute::selective:
        granularity("selective");
        modules();
        break;
      case Recompute::full:
        granularity("full");
        text("--recompute-method", "model.recompute_method", "uniform");
        number("--recompute-num-layers", "model.recompute_num_layers", 1);
        break;
      case Recompute::every_second_layer:
        granularity("full");
        text("--recompute-method", "model.recompute_method", "block");
        number("--recompute-num-layers", "model.recompute_num_layers",
               std::max(1, layers_by_chunk(scenario_).front() / 2));
        leave_out(
            "recomputation of every second layer: block recomputes the first half of each chunk");
        break;
      case Recompute::every_second_gemm:
        leave_out("recomputation of every second product: no such choice");
        break;
    }
  }

  void modules() {
    if (of_.recompute_modules == ParallelConfig{}.recompute_modules) return;  // its default
    std::vector<std::string_view> names;
    for (const RecomputeModule module : of_.recompute_modules)
      names.push_back(name_of(module_names(), module));
    all_.push_back({"--recompute-modules", "", fmt::format("{}", fmt::join(names, " "))});
    text("", "model.recompute_modules", fmt::format("[{}]", fmt::join(names, ", ")));
    // Megatron-Core's gpt_layer_specs.py: norms of their own are those before latent attention and
    // before experts.
    const TransformerConfig* shape = scenario_.model.transformer();
    const bool fused = shape != nullptr && (!shape->latent || !shape->experts);
    if (of_.recompute_modules.contains(RecomputeModule::layernorm) && fused)
      leave_out("recomputation of norms that Transformer Engine fuses into the next linear layer");
  }

  void states() {
    if (!has_replicas(of_)) {
      offload(false);
      return;
    }
    const int replicas = of_.dp * of_.cp;
    const int instances = replicas / shard_group(of_);
    if (of_.zero >= 2 && of_.pp > 1)
      leave_out(
          fmt::format("ZeRO-{} with a pipeline: the distributed optimizer is ZeRO-1", of_.zero));
    fsdp_ = of_.zero >= 2 && of_.pp == 1;
    if (of_.zero >= 1) truth("--use-distributed-optimizer", "ddp.use_distributed_optimizer");
    if (of_.zero >= 1 && !fsdp_ && instances > 1)
      number("--num-distributed-optimizer-instances", "ddp.num_distributed_optimizer_instances",
             instances);
    if (of_.zero == 1 && !of_.scatter_gradients)
      leave_out("ZeRO-1 with an all-reduce of gradients: the distributed optimizer scatters them");
    if (fsdp_) fully_sharded(instances);
    offload(of_.zero >= 1);
  }

  void fully_sharded(int instances) {
    truth("--use-megatron-fsdp", "ddp.use_megatron_fsdp");
    text("--data-parallel-sharding-strategy", "ddp.data_parallel_sharding_strategy",
         of_.zero == 2 ? "optim_grads" : "optim_grads_params");
    text("--ckpt-format", "checkpoint.ckpt_format", "fsdp_dtensor");
    if (instances > 1) leave_out(fmt::format("shards over {} ranks", shard_group(of_)));
    if (of_.zero == 3 && !of_.reshard_after_forward)
      leave_out("weights that stay gathered after the forward pass");
  }

  void offload(bool distributed) {
    if (!of_.state.offload) return;
    if (!distributed) {
      leave_out("an offloaded optimizer without ZeRO: it needs the distributed optimizer");
      return;
    }
    truth("--optimizer-cpu-offload", "optimizer.optimizer_cpu_offload");
    text("--optimizer-offload-fraction", "optimizer.optimizer_offload_fraction", "1.0");
    truth("--use-precision-aware-optimizer", "optimizer.use_precision_aware_optimizer");
  }

  void precision() {
    switch (of_.precision) {
      case Dtype::bf16:
        truth("--bf16", "");
        text("", "mixed_precision", "bf16_mixed");
        break;
      case Dtype::fp16:
        truth("--fp16", "");
        text("", "mixed_precision", "fp16_mixed");
        break;
      default:
        break;
    }
    if (is_narrow(of_.precision)) recipe();
    const bool narrow = of_.precision == Dtype::bf16 || is_narrow(of_.precision);
    if (narrow && of_.state.gradients == Dtype::bf16) {
      truth("--grad-reduce-in-bf16", "");
      truth("", "ddp.grad_reduce_in_fp32", false);
    }
    if (narrow && !of_.state.master) leave_out("states without 32-bit copies of the weights");
  }

  /// GEMMs in at most 8 bits.
  void recipe() {
    struct Flags {
      const char* id;
      const char* recipe;  // of Megatron-LM; empty: 4 bits
      const char* format;
      const char* mixed;  // of Megatron Bridge
    };
    static constexpr std::array kFlags{
        Flags{"fp8-delayed", "delayed", "hybrid", "bf16_with_fp8_delayed_scaling_mixed"},
        Flags{"fp8-current", "tensorwise", "hybrid", "bf16_with_fp8_current_scaling_mixed"},
        Flags{"fp8-blockwise", "blockwise", "e4m3", "bf16_with_fp8_subchannel_scaling_mixed"},
        Flags{"mxfp8", "mxfp8", "e4m3", "bf16_with_mxfp8_mixed"},
        Flags{"nvfp4", "", "e2m1", "bf16_with_nvfp4_mixed"}};
    truth("--bf16", "");
    const auto found = std::find_if(kFlags.begin(), kFlags.end(),
                                    [&](const Flags& flags) { return of_.recipe.id == flags.id; });
    if (found == kFlags.end()) return leave_out("precision " + of_.recipe.id);
    const std::string_view recipe = found->recipe;
    text(recipe.empty() ? "--fp4-format" : "--fp8-format", "", found->format);
    if (!recipe.empty() && recipe != "delayed") text("--fp8-recipe", "", found->recipe);
    text("", "mixed_precision", found->mixed);
  }

  void overlap() {
    const bool full = fsdp_ && of_.zero == 3;
    if (has_replicas(of_) && !full) data_overlap();
    if (full && !(of_.overlaps(Overlap::dp_gradients) && of_.overlaps(Overlap::dp_parameters)))
      leave_out("full shards without overlap: Megatron-FSDP always gathers and reduces ahead");
    if (of_.tp > 1 && of_.overlaps(Overlap::tp)) {
      if (of_.sequence_parallel)
        truth("--tp-comm-overlap", "comm_overlap.tp_comm_overlap");
      else
        leave_out("overlap of tp without sequence parallelism");
    }
    if (of_.pp > 1) pipeline_overlap();
    if (of_.ep > 1 && of_.overlaps_experts()) {
      const bool moe = of_.recompute_modules.contains(RecomputeModule::moe);
      const bool again =
          of_.recompute != Recompute::none && (of_.recompute != Recompute::selective || moe);
      if ((of_.pp == 1 || of_.vpp > 1) && !again)
        expert_overlap();
      else
        leave_out(
            "overlap of ep: it needs chunks with a pipeline, and no recomputation of layers or "
            "moe");
    }
  }

  void expert_overlap() {
    truth("--overlap-moe-expert-parallel-comm", "comm_overlap.overlap_moe_expert_parallel_comm");
    if (of_.delay_wgrad_compute) truth("--delay-wgrad-compute", "comm_overlap.delay_wgrad_compute");
  }

  void data_overlap() {
    const bool gradients = of_.overlaps(Overlap::dp_gradients);
    const bool parameters = of_.zero > 0 && of_.overlaps(Overlap::dp_parameters);
    if (gradients) {
      truth("--overlap-grad-reduce", "ddp.overlap_grad_reduce");
      const std::int64_t bytes = of_.state.gradients == Dtype::fp32 ? 4 : 2;
      number("--ddp-bucket-size", "ddp.bucket_size", of_.bucket.count() / bytes);  // parameters
    } else {
      truth("", "ddp.overlap_grad_reduce", false);
    }
    if (parameters && gradients)
      truth("--overlap-param-gather", "ddp.overlap_param_gather");
    else
      truth("", "ddp.overlap_param_gather", false);
    if (parameters && !gradients)
      leave_out("overlap of dp_parameters without dp_gradients: --overlap-param-gather needs both");
  }

  /// By default with chunks, never without.
  void pipeline_overlap() {
    const bool wanted = of_.overlaps(Overlap::pp);
    if (of_.vpp > 1 && !wanted) truth("--no-overlap-p2p-communication", "");
    if (of_.vpp > 1) truth("", "model.overlap_p2p_comm", wanted);
    if (of_.vpp == 1 && wanted)
      leave_out("overlap of pp without chunks: Megatron-Core waits for its messages there");
  }

  void order() {
    const std::string order = fmt::format("{}", fmt::join(of_.order, "-"));
    if (order == "tp-cp-pp-dp")
      truth("--use-tp-pp-dp-mapping", "dist.use_tp_pp_dp_mapping");
    else if (order != "tp-cp-dp-pp")
      leave_out(fmt::format("ranks in the order {}", order));
  }

  void others() {
    if (of_.exchange != GradientExchange::all_reduce)
      leave_out(fmt::format("gradients by {}", name_of(exchange_names(), of_.exchange)));
    if (!of_.algorithms.empty())
      leave_out("algorithms of collectives: NCCL reads them from NCCL_ALGO, for all groups");
  }

  const Scenario& scenario_;
  const ParallelConfig& of_;
  bool fsdp_ = false;
  std::vector<Setting> all_{};
  std::vector<std::string> left_out_{};
};

[[nodiscard]] std::string shell_text(const Value& value) {
  if (const auto* number = std::get_if<std::int64_t>(&value)) return fmt::format(" {}", *number);
  const auto& text = std::get<std::string>(value);
  const bool plain = text.find_first_of("|*()'\"") == std::string::npos;
  return plain ? " " + text : fmt::format(" \"{}\"", text);
}

[[nodiscard]] std::string yaml_text(const Value& value) {
  if (const auto* truth = std::get_if<bool>(&value)) return *truth ? "true" : "false";
  if (const auto* number = std::get_if<std::int64_t>(&value)) return std::to_string(*number);
  const auto& text = std::get<std::string>(value);
  const bool plain = text.find_first_of("|*(+") == std::string::npos;
  return plain ? text : fmt::format("\"{}\"", text);
}

}  // namespace

LaunchFlags megatron_flags(const Scenario& scenario) {
  const MegatronSettings settings{scenario};
  const ParallelConfig& parallel = scenario.parallel;
  const int per_node = std::max(1, scenario.cluster.cluster.gpus_per_node());
  const int in_node = std::min(per_node, parallel.ranks());
  LaunchFlags out{"", settings.left_out()};
  // Kernels and collectives start in the order of their launch (arguments.py asserts it for tp and
  // cp before Blackwell); Megatron-FSDP wants more connections.
  if ((parallel.tp > 1 || parallel.cp > 1) && !settings.is_fsdp())
    out.text += "CUDA_DEVICE_MAX_CONNECTIONS=1 ";
  out.text += fmt::format("torchrun --nproc-per-node {} --nnodes {} pretrain_gpt.py", in_node,
                          std::max(1, parallel.ranks() / in_node));
  for (const Setting& each : settings.all()) {
    if (each.flag.empty()) continue;
    out.text += " \\\n  " + each.flag;
    if (!each.bare) out.text += shell_text(each.value);
  }
  out.text += "\n";
  return out;
}

LaunchFlags nemo_flags(const Scenario& scenario) {
  const MegatronSettings settings{scenario};
  LaunchFlags out{"", settings.left_out()};
  std::vector<std::string> parts;
  const auto part_of = [](const std::string& key) { return key.substr(0, key.find('.')); };
  for (const Setting& each : settings.all()) {
    const std::string part = part_of(each.key);
    if (!part.empty() && std::find(parts.begin(), parts.end(), part) == parts.end())
      parts.push_back(part);
  }
  for (const std::string& part : parts) {
    bool first = true;
    for (const Setting& each : settings.all()) {
      if (each.key.empty() || part_of(each.key) != part) continue;
      if (each.key == part) {
        out.text += fmt::format("{}: {}\n", part, yaml_text(each.value));
        continue;
      }
      if (first) out.text += part + ":\n";
      first = false;
      out.text +=
          fmt::format("  {}: {}\n", each.key.substr(part.size() + 1), yaml_text(each.value));
    }
  }
  return out;
}

}  // namespace lockstep::app
