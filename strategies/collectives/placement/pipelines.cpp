#include "strategies/collectives/placement/pipelines.hpp"

#include <array>
#include <string_view>

#include "sim/base/check.hpp"
#include "strategies/collectives/broadcast/algorithms.hpp"
#include "strategies/collectives/reduce/algorithms.hpp"
#include "strategies/collectives/registry/registry.hpp"
#include "strategies/collectives/schedules/one_switch.hpp"
#include "strategies/collectives/schedules/pipeline_rounds.hpp"
#include "strategies/collectives/schedules/trees/tree_halves.hpp"

namespace lockstep {
namespace {

struct Pipeline {
  Collective collective;
  std::string_view name;
  PipelineRounds (*rounds)(const AlgorithmInput& complete);
};

constexpr std::array kPipelines{
    Pipeline{Collective::all_reduce, "binary_tree", binary_tree_rounds},
    Pipeline{Collective::all_reduce, "double_binary_tree", double_binary_tree_rounds},
    Pipeline{Collective::all_reduce, "nvls", nvls_rounds},
    Pipeline{Collective::all_reduce, "sharp", sharp_rounds},
    Pipeline{Collective::reduce_scatter, "nvls", one_switch_rounds},
    Pipeline{Collective::all_gather, "nvls", one_switch_rounds},
    Pipeline{Collective::reduce_scatter, "sharp", tree_half_rounds},
    Pipeline{Collective::all_gather, "sharp", tree_half_rounds},
    Pipeline{Collective::broadcast, "chain",
             [](const AlgorithmInput& input) { return broadcast::chain_rounds(input.n); }},
    Pipeline{Collective::broadcast, "binary_tree",
             [](const AlgorithmInput& input) { return broadcast::binary_tree_rounds(input.n); }},
    Pipeline{Collective::reduce, "chain",
             [](const AlgorithmInput& input) { return reduce::chain_rounds(input.n); }},
};

}  // namespace

std::optional<PipelineRounds> pipeline_rounds(const CollectiveAlgorithm& algorithm,
                                              const AlgorithmInput& input) {
  const AlgorithmParameter* chunks = find_parameter(algorithm, "chunks");
  if (chunks == nullptr || chunks->fallback) return std::nullopt;
  for (const Pipeline& pipeline : kPipelines)
    if (pipeline.collective == algorithm.collective && pipeline.name == algorithm.name)
      return pipeline.rounds(complete(algorithm, input));
  LOCKSTEP_CHECK(false);
  return std::nullopt;
}

}  // namespace lockstep
