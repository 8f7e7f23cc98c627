#include <fmt/format.h>
#include <fmt/ranges.h>

#include "strategies/layout/scenario_names.hpp"
#include "tools/app/json.hpp"
#include "tools/app/plan/launch/launch_writers.hpp"

namespace lockstep::app {

namespace {

/// DeepSpeed's JSON has data parallelism and its states; what cuts the model is an argument of its
/// modules.
class DeepSpeed {
 public:
  explicit DeepSpeed(const Scenario& scenario) : of_{scenario.parallel}, scenario_{scenario} {}

  [[nodiscard]] LaunchFlags write() {
    batch();
    precision();
    states();
    model();
    others();
    out_.text = json_.dump(2) + "\n";
    return std::move(out_);
  }

 private:
  void leave_out(std::string what) { out_.left_out.push_back(std::move(what)); }

  void batch() {
    json_["train_batch_size"] = of_.global_batch;
    json_["train_micro_batch_size_per_gpu"] = of_.micro_batch;
    json_["gradient_accumulation_steps"] = of_.microbatches();
  }

  void precision() {
    const bool half = of_.precision == Dtype::fp16;
    if (of_.precision != Dtype::fp32) json_[half ? "fp16" : "bf16"]["enabled"] = true;
    if (is_narrow(of_.precision))
      leave_out("products in 8 bits or fewer: they are those of the model's own modules");
    if (half && of_.state.gradients == Dtype::fp32) json_["communication_data_type"] = "fp32";
    if (!half && of_.precision != Dtype::fp32) {
      const bool wide = of_.state.gradients == Dtype::fp32;
      json_["communication_data_type"] = wide ? "fp32" : "bf16";
      json_["data_types"]["grad_accum_dtype"] = wide ? "fp32" : "bf16";
    }
  }

  void states() {
    int stage = has_replicas(of_) ? of_.zero : 0;
    if (of_.pp > 1 && stage > 1) {  // runtime/pipe/engine.py refuses them
      leave_out(fmt::format("ZeRO-{} with a pipeline: at most ZeRO-1", stage));
      stage = 1;
    }
    Json zero = Json::object();
    zero["stage"] = stage;
    if (stage > 0) {
      zero["overlap_comm"] = of_.overlaps(Overlap::dp_gradients);
      const std::int64_t bytes = of_.state.gradients == Dtype::fp32 ? 4 : 2;
      zero["reduce_bucket_size"] = of_.bucket.count() / bytes;  // elements
    }
    if (stage == 3 && (!of_.prefetch || !of_.overlaps(Overlap::dp_parameters)))
      zero["stage3_prefetch_bucket_size"] = 0;
    if (stage > 0 && of_.state.offload) zero["offload_optimizer"]["device"] = "cpu";
    if (stage == 0 && of_.state.offload) leave_out("an offloaded optimizer without ZeRO");
    if (stage > 0 && of_.shard_ranks > 0) shards(stage, zero);
    if (stage > 0 && stage < 3 && of_.scatter_gradients)
      leave_out("a reduce-scatter of gradients: ZeRO-1 and -2 all-reduce them");
    json_["zero_optimization"] = zero;
  }

  /// MiCS (runtime/zero/mics.py) shards within groups, at stage 3.
  void shards(int stage, Json& zero) {
    if (stage == 3)
      zero["mics_shard_size"] = of_.shard_ranks;
    else
      leave_out(fmt::format("shards over {} ranks: MiCS needs ZeRO-3", of_.shard_ranks));
  }

  void model() {
    if (of_.tp > 1) tensor();
    if (of_.pp > 1) pipeline();
    if (of_.cp > 1 && of_.cp_kind == ContextKind::ulysses)
      json_["sequence_parallel_size"] = of_.cp;
    else if (of_.cp > 1)
      leave_out(
          fmt::format("cp by {}: DeepSpeed has Ulysses", name_of(context_names(), of_.cp_kind)));
    if (of_.ep > 1) leave_out(fmt::format("ep {}: ep_size of each MoE layer in the model", of_.ep));
    if (of_.etp > 0)
      leave_out(fmt::format("etp {}: enable_expert_tensor_parallelism of each MoE layer", of_.etp));
    recomputation();
  }

  /// AutoTP for training, up to ZeRO-2.
  void tensor() {
    if (of_.pp == 1 && of_.zero < 3)
      json_["tensor_parallel"]["autotp_size"] = of_.tp;
    else
      leave_out(fmt::format("tp {}: of the model's own modules, as in Megatron-DeepSpeed", of_.tp));
    if (of_.sequence_parallel) leave_out("sequence parallelism of tp");
  }

  void pipeline() {
    leave_out(fmt::format("pp {}: num_stages of PipelineModule in the model", of_.pp));
    if (of_.schedule != PipelineOrder::one_f_one_b)
      leave_out(
          fmt::format("schedule {}: DeepSpeed has 1F1B", name_of(pipeline_names(), of_.schedule)));
    if (has_unequal_chunks(of_)) leave_out("layers of each stage: partition_method in the model");
  }

  void recomputation() {
    if (of_.recompute == Recompute::none) return;
    if (of_.recompute == Recompute::full && of_.pp > 1) {
      json_["pipeline"]["activation_checkpoint_interval"] = 1;
      return;
    }
    leave_out(fmt::format("recomputation {}: the model calls deepspeed.checkpointing",
                          recompute_text(of_)));
  }

  void others() {
    for (const Overlap what : {Overlap::cp, Overlap::ep, Overlap::ep_pairs, Overlap::pp,
                               Overlap::tp, Overlap::tp_backward}) {
      const bool of_experts = what == Overlap::ep || what == Overlap::ep_pairs;
      const int degree = what == Overlap::cp   ? of_.cp
                         : of_experts          ? of_.ep
                         : what == Overlap::pp ? of_.pp
                                               : of_.tp;
      if (degree > 1 && of_.overlaps(what))
        leave_out(fmt::format("overlap of {}", name_of(overlap_names(), what)));
    }
    if (of_.dispatcher != Dispatcher::all_to_all)
      leave_out(fmt::format("dispatcher {}", name_of(dispatcher_names(), of_.dispatcher)));
    const std::string order = fmt::format("{}", fmt::join(of_.order, "-"));
    if (order != "tp-cp-dp-pp") leave_out(fmt::format("ranks in the order {}", order));
    if (of_.exchange != GradientExchange::all_reduce)
      leave_out(fmt::format("gradients by {}", name_of(exchange_names(), of_.exchange)));
    if (scenario_.model.reads_text())
      leave_out(fmt::format("sequence length {}: of the data loader",
                            all_tokens(*scenario_.model.transformer())));
  }

  const ParallelConfig& of_;
  const Scenario& scenario_;
  Json json_ = Json::object();
  LaunchFlags out_{};
};

}  // namespace

LaunchFlags deepspeed_flags(const Scenario& scenario) {
  return DeepSpeed{scenario}.write();
}

}  // namespace lockstep::app
