#include "strategies/sharding/sharding_rules.hpp"

#include "strategies/layout/passes.hpp"

#include "strategies/sharding/placement.hpp"

namespace lockstep {

namespace {

/// Data parallelism: every replica has its share of each microbatch.
void shard_for_data_parallelism(ShardingRules& rules, const Mesh& mesh) {
  rules.shardings[Dim::batch] = mesh.axis("dp");
}

/// Tensor parallelism (Shoeybi et al., arXiv 1909.08053): attention by heads, the MLP by its inner
/// dimension (column, then row), embedding and logits by vocabulary. Keys and values are replicated
/// where they have fewer heads than there are parts.
void shard_for_tensor_parallelism(ShardingRules& rules, const Mesh& mesh) {
  const MeshSubAxes tp = mesh.axis("tp");
  rules.shardings[Dim::heads] = tp;
  rules.shardings[Dim::ffn] = tp;
  rules.shardings[Dim::vocabulary] = tp;
  rules.shardings[Dim::kv_heads] = mesh.axis("tp_kv");
}

/// Sequence parallelism (Korthikanti et al., arXiv 2205.05198): what lies between the parts that
/// tensor parallelism cuts is cut along the sequence; all-reduces become reduce-scatter and
/// all-gather.
void shard_for_sequence_parallelism(ShardingRules& rules, const Mesh& mesh) {
  rules.between = mesh.axis("tp");
}

/// Context parallelism: the sequence is cut everywhere. Inside attention Ulysses (Jacobs et al.,
/// arXiv 2309.14509) cuts heads instead; the ring (Liu et al., arXiv 2310.01889) keeps the cut and
/// rotates keys and values, see ring_attention.hpp; both: the one inside the other.
void shard_for_context_parallelism(ShardingRules& rules, const Mesh& mesh) {
  rules.shardings[Dim::sequence] = mesh.axis("cp");
  rules.attention_sequence = mesh.axis("ring");
  rules.attention_heads = mesh.axis("ulysses");
  rules.attention_kv_heads = mesh.axis("ulysses_kv");
}

/// Expert parallelism (Lepikhin et al., arXiv 2006.16668): experts are distributed; tokens go to
/// their experts' ranks and come back by all-to-all. Ranks along tp outside etp are ranks along ep
/// or edp.
void shard_for_expert_parallelism(ShardingRules& rules, const Mesh& mesh) {
  rules.shardings[Dim::expert] = mesh.axis("ep");
  rules.expert_ffn = mesh.axis("etp");
  rules.shardings[Dim::slot] = joined(mesh.axis("edp"), common(rules.between, rules.expert_ffn));
}

}  // namespace

ShardingRules sharding_rules(const ParallelConfig& parallel, const Mesh& mesh) {
  ShardingRules rules;
  shard_for_data_parallelism(rules, mesh);
  shard_for_tensor_parallelism(rules, mesh);
  shard_for_context_parallelism(rules, mesh);
  if (parallel.sequence_parallel) shard_for_sequence_parallelism(rules, mesh);
  shard_for_expert_parallelism(rules, mesh);
  return rules;
}

void shard_tensors(TrainingStepAssembly& step) {
  propagate_sharding(step.graph, step.program.mesh,
                     sharding_rules(step.parallel, step.program.mesh),
                     step.parallel.form.distributed_tensors);
}

}  // namespace lockstep
