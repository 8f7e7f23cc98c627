#include <fmt/format.h>

#include <algorithm>

#include "strategies/collectives/all_reduce/algorithms.hpp"
#include "strategies/collectives/chunk_count.hpp"
#include "strategies/collectives/schedules/compose.hpp"
#include "strategies/collectives/schedules/halves.hpp"
#include "strategies/collectives/schedules/pipeline_rounds.hpp"
#include "strategies/collectives/schedules/reduction_trees.hpp"

/// SHARP all-reduce: the network's switches add up on the way to the root of their tree and
/// multicast on the way back. In nodes of g ranks a direct reduce-scatter comes before, after which
/// rank i of every node sends its share up the tree of its rail; a direct all-gather comes after.
/// Several chunks are under way at once, one in each stage.
/// In: n >= 1 ranks, S bytes on each; ranks of the same place in their nodes below one tree of
///   switches, d levels of them; c chunks. The switches are ranks n, n+1, ... Chunks: c*g blocks.
/// Rounds 2d, and 2 inside nodes, per chunk; sent per rank S/g to the network and 2(g-1)/g*S inside
///   the node. A switch sends every share once up and once down to each below it.
/// Ideal time about (c + 2d + 1)*alpha + S/g*beta over the network (alpha s per message, beta s per
///   byte sent); c by size, alpha and beta if not given.
/// Errors: none after validate(). Source: Graham et al. 2016 (SHArP); NCCL 2.30.7 CollNet
///   direct, src/device/all_reduce.h.
namespace lockstep {

namespace {

/// A chunk's round takes alpha and 1/group of its bytes.
PipelineRounds rounds_of(const ReductionTrees& trees) {
  const int group = trees.per_node();
  return {.fixed = 2 * trees.depth() + (group > 1 ? 2 : 0), .per_chunk = group};
}

}  // namespace

PipelineRounds sharp_rounds(const AlgorithmInput& input) {
  return rounds_of({input.n, input.layout.per_node, input.layout.fabric_switches});
}

SchedulePtr make_sharp(const AlgorithmInput& input) {
  const int n = input.n;
  const int group = input.layout.per_node;
  const ReductionTrees trees{n, group, input.layout.fabric_switches};
  const auto inside = [&](SchedulePtr half) {
    return Stage{.part = std::move(half), .members = n};
  };
  std::vector<Stage> stages;
  if (group > 1) stages.push_back(inside(direct_reduce_scatter(group)));
  const SchedulePtr across = make_reduction_trees(trees);
  if (group < n) stages.push_back({.part = across, .members = across->ranks()});
  if (group > 1) stages.push_back(inside(direct_all_gather(group)));
  return in_pipeline(across->ranks(), group, std::move(stages),
                     chunk_count(input, rounds_of(trees)));
}

std::optional<CollectiveCost> sharp_estimate(const AlgorithmInput& input) {
  if (input.n == 1 || input.layout.per_node > 1) return std::nullopt;
  const ReductionTrees trees{input.n, 1, input.layout.fabric_switches};
  const std::int64_t chunks = chunk_count(input, rounds_of(trees));
  const std::int64_t rounds = chunks - 1 + 2 * trees.depth();
  return CollectiveCost{.rounds = rounds, .path_blocks = chunks, .sent_blocks = chunks};
}

std::optional<std::string> sharp_refusal(const AlgorithmInput& input) {
  const int n = input.n;
  const int group = input.layout.per_node;
  if (input.layout.fabric_switches.empty())
    return "needs switches that reduce in the network; this cluster has none";
  if (const auto unequal = input.layout.unequal_nodes())
    return "needs nodes that are alike; " + *unequal;
  if (n % group != 0)
    return fmt::format("needs nodes that are alike; {} ranks are no whole nodes of {}", n, group);
  return ReductionTrees{n, group, input.layout.fabric_switches}.problem();
}

}  // namespace lockstep
