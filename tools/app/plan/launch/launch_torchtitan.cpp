#include <fmt/format.h>
#include <fmt/ranges.h>

#include "strategies/layout/scenario_names.hpp"
#include "tools/app/plan/launch/launch_writers.hpp"

namespace lockstep::app {

namespace {

class Torchtitan {
 public:
  explicit Torchtitan(const Scenario& scenario) : scenario_{scenario}, of_{scenario.parallel} {}

  [[nodiscard]] LaunchFlags write() {
    training();
    parallelism();
    recomputation();
    precision();
    others();
    return std::move(out_);
  }

 private:
  void part(std::string_view name) {
    out_.text += fmt::format("{}[{}]\n", out_.text.empty() ? "" : "\n", name);
  }
  template <class T>
  void number(std::string_view key, T value) {
    out_.text += fmt::format("{} = {}\n", key, value);
  }
  void text(std::string_view key, std::string_view value) {
    out_.text += fmt::format("{} = \"{}\"\n", key, value);
  }
  void leave_out(std::string what) { out_.left_out.push_back(std::move(what)); }

  /// A pipeline cuts the local batch into its microbatches; without one, it is a microbatch, and
  /// gradients accumulate up to the global batch.
  void training() {
    part("training");
    number("local_batch_size", of_.pp > 1 ? of_.micro_batch * of_.microbatches() : of_.micro_batch);
    number("global_batch_size", of_.global_batch);
    if (scenario_.model.is_decoder())
      number("seq_len", scenario_.model.transformer()->sequence);
    else
      leave_out("the model: torchtitan's language models are decoders");
    text("mixed_precision_param", of_.precision == Dtype::fp32 ? "float32" : "bfloat16");
    text("mixed_precision_reduce", "float32");
    if (of_.precision == Dtype::fp16) leave_out("fp16: torchtitan computes in bf16 or fp32");
    if (of_.state.gradients != Dtype::fp32 && has_replicas(of_))
      leave_out("gradients reduced in 16 bits: torchtitan reduces float32 alone");
  }

  void parallelism() {
    part("parallelism");
    replicas();
    number("tensor_parallel_degree", of_.tp);
    if (of_.tp > 1 && !of_.sequence_parallel)
      leave_out("tp without sequence parallelism: torchtitan's tp includes it");
    if (of_.tp > 1 && of_.overlaps(Overlap::tp)) number("enable_async_tensor_parallel", true);
    if (of_.tp > 1 && of_.overlaps(Overlap::tp_backward))
      leave_out("overlap of tp_backward: torchtitan hides tp with async tensor parallelism alone");
    number("pipeline_parallel_degree", of_.pp);
    if (of_.pp > 1) pipeline();
    number("context_parallel_degree", of_.cp);
    if (of_.cp > 1) context();
    const TransformerConfig* shape = scenario_.model.transformer();
    if (shape == nullptr || !shape->experts) return;
    number("expert_parallel_degree", of_.ep);
    if (of_.overlaps_experts() && of_.ep > 1)
      leave_out("overlap of ep: its all-to-alls run in stream order");
    if (of_.dispatcher == Dispatcher::deepep)
      leave_out("dispatcher deepep: its expert_parallel_comm_backend");
    if (of_.ep > 1 && of_.tp > 1) number("expert_tensor_parallel_degree", of_.expert_tp());
    if (of_.expert_tp() != 1 && of_.expert_tp() != of_.tp)
      leave_out(fmt::format("etp {}: expert_tensor_parallel_degree is 1 or tp", of_.etp));
  }

  /// FSDP2 shards over data_parallel_shard_degree * cp.
  void replicas() {
    if (!has_replicas(of_)) return;
    const int group = shard_group(of_);
    int shards = of_.zero >= 2 ? group / of_.cp : 1;
    if (of_.zero >= 2 && group % of_.cp != 0) {
      shards = of_.dp;
      leave_out(fmt::format("shards over {} ranks: cp must divide them", group));
    }
    number("data_parallel_replicate_degree", of_.dp / shards);
    number("data_parallel_shard_degree", shards);
    if (of_.zero == 1) leave_out("ZeRO-1: torchtitan replicates all states or shards all");
    if (of_.zero == 0 && of_.cp > 1)
      leave_out("replicas of all states over cp: FSDP2 shards over it");
    if (of_.zero == 2) {
      text("fsdp_reshard_after_forward", "never");
      leave_out("ZeRO-2: FSDP2 shards weights too; \"never\" gathers them once a microbatch");
    }
    if (of_.zero == 3)
      text("fsdp_reshard_after_forward", of_.reshard_after_forward ? "always" : "never");
    const bool hides = of_.overlaps(Overlap::dp_gradients) && of_.overlaps(Overlap::dp_parameters);
    if (shards < of_.dp && of_.scatters_every_microbatch() && of_.microbatches() > 1 &&
        !of_.sums_every_microbatch())
      leave_out("replicas of shards summed once a step: torchtitan sums them in every microbatch");
    if (of_.zero >= 2 && !hides) leave_out("shards without overlap: FSDP2 always prefetches");
  }

  void pipeline() {
    switch (of_.schedule) {
      case PipelineOrder::one_f_one_b:
        text("pipeline_parallel_schedule", "1F1B");
        break;
      case PipelineOrder::interleaved:
        text("pipeline_parallel_schedule", "Interleaved1F1B");
        break;
      case PipelineOrder::gpipe:
        text("pipeline_parallel_schedule", "GPipe");
        break;
      case PipelineOrder::zb_v:
        text("pipeline_parallel_schedule", "ZBVZeroBubble");
        break;
      case PipelineOrder::dualpipe_v:
        text("pipeline_parallel_schedule", "DualPipeV");
        break;
      default:
        leave_out(
            fmt::format("schedule {}: torchtitan has 1F1B, GPipe, Interleaved1F1B, "
                        "ZBVZeroBubble and DualPipeV",
                        name_of(pipeline_names(), of_.schedule)));
    }
    if (of_.microbatch_group > 0)
      leave_out("microbatch_group: PyTorch divides the microbatches into equal rounds");
    number("pipeline_parallel_microbatch_size", of_.micro_batch);
    if (of_.overlaps(Overlap::pp))
      leave_out("overlap of pp: PyTorch's schedules wait for their messages on the stream");
    if (!of_.stages.empty()) return leave_out("layers of each stage as a list");
    const int less = of_.short_edges ? 1 : 0;
    const std::vector<int> layers = layers_by_chunk(scenario_);
    number("pipeline_parallel_layers_per_stage", layers.front() + less);
    number("pipeline_parallel_first_stage_less_layers", less);
    number("pipeline_parallel_last_stage_less_layers", less);
  }

  /// PyTorch's context_parallel: its "alltoall" sends keys and values around a ring.
  void context() {
    if (of_.cp_kind == ContextKind::ring) return text("context_parallel_rotate_method", "alltoall");
    if (of_.cp_kind == ContextKind::all_gather)
      return text("context_parallel_rotate_method", "allgather");
    leave_out(fmt::format("cp by {}: torchtitan rotates or gathers keys and values",
                          name_of(context_names(), of_.cp_kind)));
  }

  void recomputation() {
    part("activation_checkpoint");
    switch (of_.recompute) {
      case Recompute::none:
        return text("mode", "none");
      case Recompute::full:
        return text("mode", "full");
      case Recompute::every_second_gemm:
        text("mode", "selective");
        return text("selective_ac_option", "op");
      case Recompute::every_second_layer:
        text("mode", "selective");
        return text("selective_ac_option", "2");
      case Recompute::selective:
        text("mode", "none");
        if (of_.recompute_modules == ParallelConfig{}.recompute_modules)
          leave_out("recomputation of attention's core: torchtitan's attention is fused");
        else
          leave_out("recomputation of modules: " + modules_text(of_.recompute_modules));
    }
  }

  void precision() {
    const bool async = of_.tp > 1 && of_.overlaps(Overlap::tp);
    const bool block = of_.recipe.id == "mxfp8";
    const bool known = block || of_.recipe.of_stack || of_.recipe.id == "fp8-rowwise";
    if (is_narrow(of_.precision) && !known) leave_out("precision " + of_.recipe.id);
    if (is_narrow(of_.precision) && known) {
      const std::string converter = block ? "quantize.linear.mx" : "quantize.linear.float8";
      part("model");
      out_.text += "converters = [\"" + converter + "\"]\n";
      part(converter);
      text("recipe_name", block ? "mxfp8_cublas" : "rowwise");
    }
    if (is_narrow(of_.precision) || async) {
      part("compile");
      number("enable", true);
    }
  }

  void others() {
    if (of_.state.offload)
      leave_out(
          "an offloaded optimizer alone: training.enable_cpu_offload moves weights and "
          "gradients too");
    const std::string order = fmt::format("{}", fmt::join(of_.order, "-"));
    if (order != "tp-cp-dp-pp") leave_out(fmt::format("ranks in the order {}", order));
    if (of_.exchange != GradientExchange::all_reduce)
      leave_out(fmt::format("gradients by {}", name_of(exchange_names(), of_.exchange)));
    if (!of_.algorithms.empty()) leave_out("algorithms of collectives");
  }

  const Scenario& scenario_;
  const ParallelConfig& of_;
  LaunchFlags out_{};
};

}  // namespace

LaunchFlags torchtitan_flags(const Scenario& scenario) {
  return Torchtitan{scenario}.write();
}

}  // namespace lockstep::app
