#include "strategies/layout/scenario_names.hpp"

namespace lockstep {

const Names<Recompute>& recompute_names() {
  static const Names<Recompute> names{{"none", Recompute::none},
                                      {"selective", Recompute::selective},
                                      {"every-second-product", Recompute::every_second_gemm},
                                      {"every-second-layer", Recompute::every_second_layer},
                                      {"full", Recompute::full}};
  return names;
}

const Names<RecomputeModule>& module_names() {
  static const Names<RecomputeModule> names{{"core_attn", RecomputeModule::core_attn},
                                            {"layernorm", RecomputeModule::layernorm},
                                            {"mla_up_proj", RecomputeModule::mla_up_proj},
                                            {"mlp", RecomputeModule::mlp},
                                            {"moe", RecomputeModule::moe},
                                            {"moe_act", RecomputeModule::moe_act},
                                            {"shared_experts", RecomputeModule::shared_experts}};
  return names;
}

const Names<PipelineOrder>& pipeline_names() {
  static const Names<PipelineOrder> names{{"none", PipelineOrder::none},
                                          {"naive", PipelineOrder::naive},
                                          {"gpipe", PipelineOrder::gpipe},
                                          {"1f1b", PipelineOrder::one_f_one_b},
                                          {"interleaved", PipelineOrder::interleaved},
                                          {"zb-h1", PipelineOrder::zb_h1},
                                          {"zb-h2", PipelineOrder::zb_h2},
                                          {"zb-1p", PipelineOrder::zb_1p},
                                          {"zb-2p", PipelineOrder::zb_2p},
                                          {"zb-v", PipelineOrder::zb_v},
                                          {"v-half", PipelineOrder::v_half},
                                          {"v-min", PipelineOrder::v_min},
                                          {"dualpipe-v", PipelineOrder::dualpipe_v},
                                          {"dualpipe", PipelineOrder::dualpipe}};
  return names;
}

const Names<ContextKind>& context_names() {
  static const Names<ContextKind> names{{"ring", ContextKind::ring},
                                        {"ulysses", ContextKind::ulysses},
                                        {"2d", ContextKind::both},
                                        {"all_gather", ContextKind::all_gather}};
  return names;
}

const Names<GradientExchange>& exchange_names() {
  static const Names<GradientExchange> names{
      {"all_reduce", GradientExchange::all_reduce},
      {"parameter_server", GradientExchange::parameter_server},
      {"host_average", GradientExchange::host_average},
      {"parameter_averaging", GradientExchange::parameter_averaging},
      {"diloco", GradientExchange::diloco}};
  return names;
}

const Names<Overlap>& overlap_names() {
  static const Names<Overlap> names{{"cp", Overlap::cp},
                                    {"dp_gradients", Overlap::dp_gradients},
                                    {"dp_parameters", Overlap::dp_parameters},
                                    {"ep", Overlap::ep},
                                    {"ep_pairs", Overlap::ep_pairs},
                                    {"hsdp", Overlap::hsdp},
                                    {"outer", Overlap::outer},
                                    {"pp", Overlap::pp},
                                    {"tp", Overlap::tp},
                                    {"tp_backward", Overlap::tp_backward}};
  return names;
}

const Names<Dispatcher>& dispatcher_names() {
  static const Names<Dispatcher> names{{"alltoall", Dispatcher::all_to_all},
                                       {"deepep", Dispatcher::deepep}};
  return names;
}

const Names<GradientReduction>& reduction_names() {
  static const Names<GradientReduction> names{
      {"every_microbatch", GradientReduction::every_microbatch},
      {"last_microbatch", GradientReduction::last_microbatch}};
  return names;
}

const Names<UpdateStart>& update_names() {
  static const Names<UpdateStart> names{{"after_all", UpdateStart::after_all},
                                        {"by_bucket", UpdateStart::by_bucket}};
  return names;
}

const Names<Optimizer>& optimizer_names() {
  static const Names<Optimizer> names{{"sgd", Optimizer::sgd},
                                      {"momentum", Optimizer::momentum},
                                      {"adam", Optimizer::adam},
                                      {"muon", Optimizer::muon},
                                      {"soap", Optimizer::soap}};
  return names;
}

const Names<MuonBlocks>& muon_blocks_names() {
  static const Names<MuonBlocks> names{{"duplicated", MuonBlocks::duplicated},
                                       {"distributed", MuonBlocks::distributed},
                                       {"blockwise", MuonBlocks::blockwise}};
  return names;
}

std::string modules_text(const std::set<RecomputeModule>& modules) {
  std::string out;
  for (const RecomputeModule module : modules) {
    if (!out.empty()) out += '+';
    out += name_of(module_names(), module);
  }
  return out;
}

std::string recompute_text(const ParallelConfig& parallel) {
  std::string out{name_of(recompute_names(), parallel.recompute)};
  const bool usual = parallel.recompute_modules == ParallelConfig{}.recompute_modules;
  if (parallel.recompute == Recompute::selective && !usual)
    out += " (" + modules_text(parallel.recompute_modules) + ")";
  return out;
}

std::string precision_text(const ParallelConfig& parallel) {
  if (is_narrow(parallel.precision) && !parallel.recipe.of_stack) return parallel.recipe.id;
  return std::string{name_of(precision_names(), parallel.precision)};
}

const Names<Dtype>& precision_names() {
  static const Names<Dtype> names{
      {"fp32", Dtype::fp32}, {"fp16", Dtype::fp16}, {"bf16", Dtype::bf16}, {"fp8", Dtype::fp8}};
  return names;
}

const Names<Dtype>& stored_names() {
  static const Names<Dtype> names{{"fp32", Dtype::fp32},           {"fp16", Dtype::fp16},
                                  {"bf16", Dtype::bf16},           {"fp8", Dtype::fp8},
                                  {"fp8_block", Dtype::fp8_block}, {"nvfp4", Dtype::nvfp4}};
  return names;
}

}  // namespace lockstep
