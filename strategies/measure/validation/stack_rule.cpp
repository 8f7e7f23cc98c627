#include "strategies/measure/validation/stack_rule.hpp"

#include <algorithm>

#include "sim/base/check.hpp"
#include "strategies/layout/scenario_names.hpp"
#include "strategies/stacks/default_stack.hpp"
#include "topologies/devices/device.hpp"

namespace lockstep {

namespace {

bool says(const MeasuredRun& run, std::string_view words) {
  return run.origin.notes.find(words) != std::string::npos;
}

bool of(const MeasuredRun& run, std::initializer_list<std::string_view> groups) {
  return std::find(groups.begin(), groups.end(), run.group) != groups.end();
}

int zero_of(const MeasuredRun& run) {
  const auto* parallel = run.parallel.get_if<JsonObject>();
  const JsonValue* zero = parallel == nullptr ? nullptr : find_member(*parallel, "zero");
  const auto* stage = zero == nullptr ? nullptr : zero->get_if<std::int64_t>();
  return stage == nullptr ? 0 : static_cast<int>(*stage);
}

/// Empty for a device that does not ship.
std::string kernels_of(const std::string& gpu, const std::filesystem::path& configs) {
  const std::filesystem::path file = configs / "devices" / (gpu + ".json");
  return std::filesystem::exists(file) ? load_device(file).kernels : std::string{};
}

Dtype dtype_of(const std::string& precision) {
  for (const auto& [name, dtype] : precision_names())
    if (name == precision) return dtype;
  return Dtype::bf16;
}

}  // namespace

const std::vector<StackRule>& stack_rules() {
  static const std::vector<StackRule> rules{
      {"group bloom in bf16", "blocking-bf16", 0.1,
       "BLOOM's trials: as the next, with DeepSpeed's BF16_Optimizer",
       [](const MeasuredRun& run) { return of(run, {"bloom"}) && run.precision == "bf16"; }},
      {"group bloom", "blocking", 0.1,
       "BLOOM's Megatron-DeepSpeed sets CUDA_LAUNCH_BLOCKING=1 (tr11-176B-ml.slurm)",
       [](const MeasuredRun& run) { return of(run, {"bloom"}); }},
      {"attention unfused and ZeRO in bf16", "deepspeed-bf16", 0.1,
       "Megatron-DeepSpeed shards optimizer states in bf16 with its BF16_Optimizer",
       [](const MeasuredRun& run) {
         return run.attention == "unfused" && run.precision == "bf16" && zero_of(run) > 0;
       }},
      {"groups kor and zb", "unfused-2022", 0.1,
       "Megatron-LM of 2022 (Korthikanti et al., arXiv 2205.05198) and 2023 (sail-sg's "
       "zero-bubble-pipeline-parallelism): as the next, but in backward passes communication of "
       "tensor parallelism hides behind weight gradients, and these are accumulated by their GEMM",
       [](const MeasuredRun& run) {
         return of(run, {"kor", "zb"});
       }},
      {"attention unfused", "unfused", 0.1,
       "scores that are written out mean Megatron-LM or Megatron-DeepSpeed of 2020 to 2022: a "
       "fused softmax, but a kernel for every other step; their arguments.py has 0.1 as the "
       "default of "
       "--attention-dropout and --hidden-dropout, and Korthikanti et al. 2022 (arXiv 2205.05198, "
       "section 4) count the masks",
       [](const MeasuredRun& run) { return run.attention == "unfused"; }},
      {"group mlperf, and the source is MLPerf Training v3.0", "nemo-2023", 0,
       "NeMo before FlashAttention-2: results of MLPerf Training v3.0 are of June 2023",
       [](const MeasuredRun& run) {
         return of(run, {"mlperf"}) &&
                run.origin.source.find("training_results_v3.0") != std::string::npos;
       }},
      {"groups nemo, dgxc and mlperf", "megatron-bridge-performance", 0,
       "NVIDIA's benchmarks of NeMo: performance recipes, which reduce gradients in bf16 as those "
       "of "
       "Megatron Bridge after them",
       [](const MeasuredRun& run) {
         return of(run, {"nemo", "dgxc", "mlperf"});
       }},
      {"group mcore", "transformer-engine", 0,
       "Megatron-Core's own runs, which build their layers from Transformer Engine",
       [](const MeasuredRun& run) { return of(run, {"mcore"}); }},
      {"fp8, and notes say one scale per row", "fsdp2-fp8-rows", 0,
       "torchao's float8 with a scale per row",
       [](const MeasuredRun& run) {
         return run.precision == "fp8" && says(run, "one scale per row");
       }},
      {"group tt, and notes say torch.compile, and not \"no torch.compile\"", "fsdp2", 0,
       "torchtitan compiles each layer and shards with FSDP2",
       [](const MeasuredRun& run) {
         return of(run, {"tt"}) && says(run, "torch.compile") && !says(run, "no torch.compile");
       }},
      {"notes say torch.compile, and not \"no torch.compile\"", "fsdp", 0,
       "TorchInductor fuses what is not a product or attention; published runs of it shard with "
       "FSDP",
       [](const MeasuredRun& run) {
         return says(run, "torch.compile") && !says(run, "no torch.compile");
       }},
      {"group llmf", "fused-2022", 0,
       "MosaicML llm-foundry of 2023: attention is FlashAttention 1 in Triton",
       [](const MeasuredRun& run) { return of(run, {"llmf"}); }},
      {"groups tt and fms without torch.compile", "eager", 0,
       "torchtitan and IBM's FSDP run PyTorch's own operations where they do not compile",
       [](const MeasuredRun& run) {
         return of(run, {"tt", "fms"});
       }},
      {"precision fp8, mxfp8 and fp4", "transformer-engine", 0,
       "products in 8 bits and fewer came to training with Transformer Engine",
       [](const MeasuredRun& run) {
         return run.precision == "fp8" || run.precision == "mxfp8" || run.precision == "fp4";
       }},
      {"all others", "", 0, "the default of `lockstep run` for the device and precision",
       [](const MeasuredRun&) { return true; }},
  };
  return rules;
}

const StackRule& stack_rule_of(const MeasuredRun& run) {
  const auto& rules = stack_rules();
  const auto found = std::find_if(rules.begin(), rules.end(),
                                  [&run](const StackRule& rule) { return rule.matches(run); });
  LOCKSTEP_CHECK(found != rules.end());
  return *found;
}

std::string stack_of(const MeasuredRun& run, const std::filesystem::path& configs) {
  if (!run.stack.empty()) return run.stack;
  const std::string_view named = stack_rule_of(run).stack;
  if (!named.empty()) return std::string{named};
  const std::string kernels = kernels_of(run.gpu, configs);
  return default_stack({kernels, dtype_of(run.precision), zero_of(run), true}).id;
}

}  // namespace lockstep
