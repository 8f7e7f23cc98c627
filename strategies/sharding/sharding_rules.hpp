#pragma once

#include "strategies/layout/parallel_config.hpp"
#include "strategies/sharding/propagate_sharding.hpp"

/// What each strategy that shards tensors says; propagate_sharding() does the rest.
namespace lockstep {

/// Data parallelism: every replica has its share of each microbatch.
void cut_for_data_parallelism(ShardingRules& rules, const Mesh& mesh);

/// Tensor parallelism (Shoeybi et al., arXiv 1909.08053): attention by heads, the MLP by its inner
/// dimension (column, then row), embedding and logits by vocabulary. Keys and values are replicated
/// where they have fewer heads than there are parts.
void cut_for_tensor_parallelism(ShardingRules& rules, const Mesh& mesh);

/// Sequence parallelism (Korthikanti et al., arXiv 2205.05198): what lies between the parts that
/// tensor parallelism cuts is cut along the sequence; all-reduces become reduce-scatter and
/// all-gather.
void cut_for_sequence_parallelism(ShardingRules& rules, const Mesh& mesh);

/// Context parallelism: the sequence is cut everywhere. Inside attention Ulysses (Jacobs et al.,
/// arXiv 2309.14509) cuts heads instead; the ring (Liu et al., arXiv 2310.01889) keeps the cut and
/// rotates keys and values, see ring_attention.hpp; both: the one inside the other.
void cut_for_context_parallelism(ShardingRules& rules, const Mesh& mesh);

/// Expert parallelism (Lepikhin et al., arXiv 2006.16668): experts are cut; tokens go to their
/// experts' ranks and come back by all-to-all.
void cut_for_expert_parallelism(ShardingRules& rules, const Mesh& mesh);

/// All of them, as a scenario says.
[[nodiscard]] ShardingRules sharding_rules(const ParallelConfig& parallel, const Mesh& mesh);

}  // namespace lockstep
