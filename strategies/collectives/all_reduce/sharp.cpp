#include <algorithm>
#include <utility>

#include "strategies/collectives/chunk_count.hpp"
#include "strategies/collectives/row_helpers.hpp"
#include "strategies/collectives/schedules/compose.hpp"
#include "strategies/collectives/schedules/halves.hpp"
#include "strategies/collectives/schedules/node_switches.hpp"
#include "strategies/collectives/schedules/pipeline_rounds.hpp"
#include "strategies/collectives/schedules/trees/reduction_trees.hpp"

/// SHARP all-reduce: the network's switches add up on the way to the root of their tree and
/// multicast on the way back. In nodes of g ranks a direct reduce-scatter comes before, after which
/// rank i of every node sends its share up the tree of its rail; a direct all-gather comes after.
/// With `inside` nvls the nodes' own switches reduce and multicast instead, as in nvls.cpp.
/// Several chunks are in flight at once, one in each stage.
/// In: n >= 1 ranks, S bytes on each; ranks of the same place in their nodes below one tree of
///   switches, d levels of them; c chunks. The switches are ranks n, n+1, ..., those of the network
///   first. Chunks: c*g blocks.
/// A switch sends every share once up and once down to each below it. Over the network chunks take
///   about (c + 2d + 1)*alpha + S/g*beta; if c is not given it follows from size, alpha and beta.
/// Reference: CollNet direct, and NVLS between nodes, in NCCL 2.30.7, src/device/all_reduce.h.
namespace lockstep {
namespace {

/// A chunk's round takes alpha and 1/group of its bytes.
PipelineRounds rounds_of(const ReductionTrees& trees) {
  const int group = trees.per_node();
  return {.fixed = 2 * trees.depth() + (group > 1 ? 2 : 0), .per_chunk = group};
}

[[nodiscard]] bool over_nvswitches(const AlgorithmInput& input) {
  return input.text("inside") == "nvls";
}

/// Of the nodes' switches a rank each, after those of the network.
[[nodiscard]] Stage switch_half(const AlgorithmInput& input, int before, Combine combine) {
  const int n = input.n;
  std::vector<int> above{input.layout.node_switches.begin(),
                         input.layout.node_switches.begin() + n};
  for (int& each : above) each += before;
  const int switches = before + static_cast<int>(std::ssize(input.layout.node_switches)) - n;
  return {.part = over_node_switches(n, input.layout.per_node, std::move(above), switches, combine),
          .members = n + switches};
}

SchedulePtr make_sharp(const AlgorithmInput& input) {
  const int n = input.n;
  const int group = input.layout.per_node;
  const ReductionTrees trees = reduction_trees_of(input);
  const SchedulePtr across = make_reduction_trees(trees);
  int ranks = across->ranks();
  const auto half = [&](Combine combine) {
    if (!over_nvswitches(input))
      return Stage{.part = combine == Combine::reduce ? direct_reduce_scatter(group)
                                                      : direct_all_gather(group),
                   .members = n};
    Stage stage = switch_half(input, across->ranks() - n, combine);
    ranks = stage.members;
    return stage;
  };
  std::vector<Stage> stages;
  if (group > 1) stages.push_back(half(Combine::reduce));
  if (group < n) stages.push_back({.part = across, .members = across->ranks()});
  if (group > 1) stages.push_back(half(Combine::copy));
  return in_pipeline(ranks, group, std::move(stages), chunk_count(input, rounds_of(trees)));
}

std::optional<std::string> sharp_refusal(const AlgorithmInput& input) {
  if (auto problem = reduction_trees_refusal(input)) return problem;
  return over_nvswitches(input) ? node_switches_refusal(input) : std::nullopt;
}

std::optional<CollectiveCost> sharp_estimate(const AlgorithmInput& input) {
  if (input.n == 1 || input.layout.per_node > 1) return std::nullopt;
  const ReductionTrees trees = reduction_trees_of(input);
  const std::int64_t chunks = chunk_count(input, rounds_of(trees));
  const std::int64_t rounds = chunks - 1 + std::int64_t{2} * trees.depth();
  return CollectiveCost{.rounds = rounds, .path_blocks = chunks, .sent_blocks = chunks};
}

}  // namespace

PipelineRounds sharp_rounds(const AlgorithmInput& input) {
  return rounds_of(reduction_trees_of(input));
}

CollectiveAlgorithm all_reduce_sharp_row() {
  return {
      .collective = Collective::all_reduce,
      .name = "sharp",
      .summary = "network switches reduce and multicast, shards of nodes rail by rail",
      .parameters = {chunks_parameter(),
                     {.name = "inside",
                      .meaning = "what nodes do before and after: direct, or nvls where their "
                                 "switches reduce",
                      .kind = ParameterKind::algorithm,
                      .fallback = "direct",
                      .names = {"direct", "nvls"}}},
      .limits = "switches that reduce in the network, with inside=nvls also in the nodes",
      .rounds = "chunks - 1 + 2 per level of switches, and 2 inside nodes",
      .sent_per_rank = "S/G to the network; inside nodes of G 2(G-1)/G*S, with nvls (1 + 1/G)*S",
      .time = "about (chunks - 1 + 2 levels)*alpha + S*beta with one rank a node",
      .example = "sharp:chunks=16",
      .source = "Graham et al. 2016 (SHArP); NCCL 2.30.7, src/device/all_reduce.h",
      .file = "sharp.cpp",
      .make = make_sharp,
      .estimate = sharp_estimate,
      .refusal = sharp_refusal,
      .auxiliary_ranks = AuxiliaryRanks::fabric_switches};
}

}  // namespace lockstep
