#include "sim/config/key_aliases.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

namespace lockstep {

namespace {

constexpr std::string_view kChunks = "layers / (pp * layers per virtual stage)";
constexpr std::string_view kAccumulated = "micro_batch * dp * accumulation steps";
constexpr std::string_view kPerDevice = "sequences of a microbatch";

/// Options of Megatron-LM, keys of DeepSpeed's and NeMo's configurations, of torchtitan's TOML and
/// of config.json of Hugging Face Transformers.
constexpr auto kAliases = std::to_array<KeyAlias>({
    // Megatron-LM and NeMo
    {"tensor_model_parallel_size", "parallel.tp", ""},
    {"pipeline_model_parallel_size", "parallel.pp", ""},
    {"virtual_pipeline_model_parallel_size", "parallel.vpp", ""},
    {"num_virtual_stages_per_pipeline_rank", "parallel.vpp", ""},
    {"num_layers_per_virtual_pipeline_stage", "parallel.vpp", kChunks},
    {"microbatch_group_size_per_virtual_pipeline_stage", "parallel.microbatch_group", ""},
    {"microbatch_group_size_per_vp_stage", "parallel.microbatch_group", ""},
    {"context_parallel_size", "parallel.cp", ""},
    {"expert_model_parallel_size", "parallel.ep", ""},
    {"expert_tensor_parallel_size", "parallel.etp", ""},
    {"micro_batch_size", "parallel.micro_batch", ""},
    {"global_batch_size", "parallel.global_batch", ""},
    {"recompute_granularity", "parallel.recompute", ""},
    {"moe_expert_capacity_factor", "parallel.capacity_factor", ""},
    {"cp_comm_type", "parallel.cp_kind", "ring, ulysses, 2d or all_gather"},
    {"pipeline_model_parallel_layout", "parallel.stages",
     "the same text, or layers of each model chunk"},
    {"seq_length", "model.seq", ""},
    {"num_layers", "model.layers", ""},
    {"num_query_groups", "model.kv_heads", ""},
    {"ffn_hidden_size", "model.ffn", ""},
    {"kv_channels", "model.head_size", ""},
    {"swiglu", "model.activation", "swiglu"},
    {"moe_router_topk", "model.experts.top_k", ""},
    {"moe_router_num_groups", "model.experts.groups", ""},
    {"moe_router_group_topk", "model.experts.group_top_k", ""},
    {"moe_token_dispatcher_type", "parallel.dispatcher", "alltoall or deepep"},
    {"moe_deepep_num_sms", "parallel.dispatch_sms", ""},
    {"moe_ffn_hidden_size", "model.experts.ffn", ""},
    {"moe_shared_expert_intermediate_size", "model.experts.shared_ffn", ""},
    // DeepSpeed
    {"zero_stage", "parallel.zero", ""},
    {"train_batch_size", "parallel.global_batch", ""},
    {"train_micro_batch_size_per_gpu", "parallel.micro_batch", ""},
    {"gradient_accumulation_steps", "parallel.global_batch", kAccumulated},
    {"autotp_size", "parallel.tp", ""},
    {"offload_optimizer", "parallel.state.offload", "true or false"},
    {"reduce_bucket_size", "parallel.bucket", "bytes with their unit"},
    {"allgather_bucket_size", "parallel.bucket", "bytes with their unit"},
    {"hpz_partition_size", "parallel.shard_ranks", ""},
    // torchtitan and PyTorch
    {"tensor_parallel_degree", "parallel.tp", ""},
    {"pipeline_parallel_degree", "parallel.pp", ""},
    {"pipeline_parallel_schedule", "parallel.schedule", ""},
    {"context_parallel_degree", "parallel.cp", ""},
    {"expert_parallel_degree", "parallel.ep", ""},
    {"expert_tensor_parallel_degree", "parallel.etp", ""},
    {"data_parallel_replicate_degree", "parallel.dp", "replicas times shards"},
    {"data_parallel_shard_degree", "parallel.shard_ranks", ""},
    {"fsdp_reshard_after_forward", "parallel.reshard_after_forward", "true or false"},
    {"local_batch_size", "parallel.micro_batch", kPerDevice},
    {"activation_checkpoint", "parallel.recompute", ""},
    {"activation_checkpointing", "parallel.recompute", ""},
    {"gradient_checkpointing", "parallel.recompute", "none or full"},
    {"bucket_cap_mb", "parallel.bucket", "bytes with their unit"},
    {"seq_len", "model.seq", ""},
    // Hugging Face Transformers
    {"per_device_train_batch_size", "parallel.micro_batch", kPerDevice},
    {"hidden_size", "model.hidden", ""},
    {"n_embd", "model.hidden", ""},
    {"num_hidden_layers", "model.layers", ""},
    {"n_layer", "model.layers", ""},
    {"num_attention_heads", "model.heads", ""},
    {"n_head", "model.heads", ""},
    {"num_key_value_heads", "model.kv_heads", ""},
    {"head_dim", "model.head_size", ""},
    {"intermediate_size", "model.ffn", ""},
    {"n_inner", "model.ffn", ""},
    {"max_position_embeddings", "model.seq", ""},
    {"n_positions", "model.seq", ""},
    {"vocab_size", "model.vocab", ""},
    {"tie_word_embeddings", "model.tied_embeddings", ""},
    {"hidden_act", "model.activation", ""},
    {"sliding_window", "model.window.size", ""},
    {"num_nextn_predict_layers", "model.mtp.layers", ""},
    {"mtp_num_layers", "model.mtp.layers", ""},
    {"mtp_loss_scaling_factor", "model.mtp.loss_scaling_factor", ""},
    {"num_experts", "model.experts.count", ""},
    {"num_local_experts", "model.experts.count", ""},
    {"n_routed_experts", "model.experts.count", ""},
    {"num_experts_per_tok", "model.experts.top_k", ""},
    {"moe_intermediate_size", "model.experts.ffn", ""},
    {"n_shared_experts", "model.experts.shared", ""},
    {"first_k_dense_replace", "model.experts.dense_layers", ""},
    // In words and in short
    {"data_parallel", "parallel.dp", ""},
    {"data_parallel_size", "parallel.dp", ""},
    {"replicas", "parallel.dp", ""},
    {"tensor_parallel", "parallel.tp", ""},
    {"tensor_parallel_size", "parallel.tp", ""},
    {"pipeline_parallel", "parallel.pp", ""},
    {"pipeline_parallel_size", "parallel.pp", ""},
    {"pipeline_stages", "parallel.pp", ""},
    {"virtual_stages", "parallel.vpp", ""},
    {"virtual_pipeline", "parallel.vpp", ""},
    {"interleave", "parallel.vpp", ""},
    {"chunks_per_stage", "parallel.vpp", ""},
    {"context_parallel", "parallel.cp", ""},
    {"expert_parallel", "parallel.ep", ""},
    {"expert_parallel_size", "parallel.ep", ""},
    {"fsdp", "parallel.zero", "3 for FSDP"},
    {"sharding_strategy", "parallel.zero", "3 for FULL_SHARD, 2 for SHARD_GRAD_OP"},
    {"sp", "parallel.sequence_parallel", ""},
    {"mbs", "parallel.micro_batch", ""},
    {"microbatch", "parallel.micro_batch", ""},
    {"microbatch_size", "parallel.micro_batch", ""},
    {"gbs", "parallel.global_batch", ""},
    {"batch", "parallel.global_batch", ""},
    {"batch_size", "parallel.global_batch", ""},
    {"num_microbatches", "parallel.global_batch", "micro_batch * dp * microbatches"},
    {"dtype", "parallel.precision", ""},
    {"pipeline_schedule", "parallel.schedule", ""},
    {"sequence_length", "model.seq", ""},
    {"context_length", "model.seq", ""},
    {"num_nodes", "cluster.nodes", ""},
    {"nnodes", "cluster.nodes", ""},
    {"num_gpus", "cluster.gpus", ""},
    {"world_size", "cluster.gpus", ""},
    {"nproc_per_node", "cluster.gpus_per_node", ""},
});

std::string spelled(std::string_view name) {
  name.remove_prefix(std::min(name.find_first_not_of('-'), name.size()));
  std::string out{name};
  for (char& each : out)
    each = each == '-' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(each)));
  return out;
}

}  // namespace

std::string_view KeyAlias::key() const {
  return path.substr(path.rfind('.') + 1);
}

std::string KeyAlias::text(bool whole_path) const {
  const std::string out = fmt::format("\"{}\"", whole_path ? path : key());
  return value.empty() ? out : fmt::format("{} ({})", out, value);
}

std::span<const KeyAlias> key_aliases() {
  return kAliases;
}

const KeyAlias* find_key_alias(std::string_view name) {
  const std::string wanted = spelled(name);
  for (const KeyAlias& each : kAliases)
    if (each.alias == wanted) return &each;
  return nullptr;
}

std::vector<std::string_view> aliases_of_key(std::string_view path) {
  std::vector<std::string_view> out;
  for (const KeyAlias& each : kAliases)
    if (each.path == path) out.push_back(each.alias);
  return out;
}

}  // namespace lockstep
