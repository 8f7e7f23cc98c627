#include <fmt/format.h>

#include "strategies/collectives/all_reduce/inner.hpp"
#include "strategies/collectives/all_reduce/row_parts.hpp"
#include "strategies/collectives/chunk_count.hpp"
#include "strategies/collectives/row_helpers.hpp"
#include "strategies/collectives/schedules/compose.hpp"
#include "strategies/collectives/schedules/halves.hpp"

/// Hierarchical all-reduce: a reduce-scatter inside every node of g ranks, all-reduces across the
/// m = n/g nodes, one for each rank of a node on its share, by any other algorithm; an all-gather
/// inside every node. With several chunks the three follow one another for each, at the same time
/// for different ones.
/// In: n >= 1 ranks, S bytes on each; group g divides n; inner, an all-reduce without auxiliary
///   ranks; intra, ring or direct. Chunks: c*g times the blocks of inner.
/// With a ring or direct as inner a rank sends 2(n-1)/n*S.
/// Reference: NCCLHierarchicalAllreduce in Horovod, horovod/common/ops/nccl_operations.cc.
namespace lockstep {
namespace {

int group_of(const AlgorithmInput& input) {
  return static_cast<int>(input.number("group").value_or(input.layout.per_node));
}

bool direct_inside(const AlgorithmInput& input) {
  return input.text("intra").value() == "direct";
}

SchedulePtr make_hierarchical(const AlgorithmInput& input) {
  const int group = group_of(input);
  const int nodes = input.n / group;
  const bool direct = direct_inside(input);
  const SchedulePtr across = make_inner(input, nodes, group);
  const std::int64_t share = across->blocks();
  const auto inside = [&](SchedulePtr half) {
    return Stage{.part = std::move(half), .members = input.n, .scale = share};
  };
  std::vector<Stage> stages{
      inside(direct ? direct_reduce_scatter(group) : ring_reduce_scatter(group)),
      {.part = across,
       .stride = group,
       .members = input.n,
       .offset = [group, share](int rank) { return rank % group * share; }},
      inside(direct ? direct_all_gather(group) : ring_all_gather(group))};
  return in_pipeline(input.n, group * share, std::move(stages), rows::number(input, "chunks"));
}

std::optional<CollectiveCost> hierarchical_cost(const AlgorithmInput& input) {
  if (rows::number(input, "chunks") > 1) return std::nullopt;
  const int group = group_of(input);
  const auto across = inner_cost(input, input.n / group, group);
  if (!across) return std::nullopt;
  const std::int64_t others = group - 1;
  const std::int64_t share = make_inner(input, input.n / group, group)->blocks();
  const std::int64_t rounds = direct_inside(input) ? std::min<std::int64_t>(others, 1) : others;
  return CollectiveCost{.rounds = 2 * rounds + across->rounds,
                        .path_blocks = 2 * others * share + across->path_blocks,
                        .reduced_blocks = others * share + across->reduced_blocks,
                        .sent_blocks = 2 * others * share + across->sent_blocks};
}

std::optional<std::string> hierarchical_refusal(const AlgorithmInput& input) {
  const auto unequal = input.layout.unequal_nodes();
  if (unequal && !input.number("group"))
    return *unequal + "; needs equal groups: say of how many, as in group=2";
  const int group = group_of(input);
  if (input.n % group != 0) return fmt::format("group={} does not divide {} ranks", group, input.n);
  const std::string intra = input.text("intra").value();
  if (intra != "ring" && intra != "direct")
    return fmt::format("intra is ring or direct, got \"{}\"", intra);
  return inner_problem(input, input.n / group, group);
}

}  // namespace

CollectiveAlgorithm all_reduce_hierarchical_row() {
  return {
      .collective = Collective::all_reduce,
      .name = "hierarchical",
      .summary = "reduce-scatter in every node, all-reduces across nodes, all-gather in every node",
      .parameters = {{.name = "group",
                      .meaning =
                          "consecutive ranks that make a node; those of the cluster's if not "
                          "given"},
                     rows::inner_parameter(),
                     {.name = "intra",
                      .meaning = "ring or direct inside nodes",
                      .kind = ParameterKind::algorithm,
                      .fallback = "ring"},
                     {.name = "chunks",
                      .meaning = "parts of the message that follow one another through the stages",
                      .fallback = 1,
                      .most = kMostChunks}},
      .limits =
          "group divides n; inner is not nvls, sharp (both hierarchies by themselves) or "
          "parameter_server",
      .rounds = "2(group-1), or 2 with intra=direct, and inner's",
      .sent_per_rank = "2(group-1)/group*S and inner's of S/group",
      .time =
          "2(group-1)*alpha + 2(group-1)/group*S*beta + (group-1)/group*S*gamma and inner's "
          "for S/group",
      .example = "hierarchical:group=8,inner=ring:channels=2",
      .source = "Horovod NCCLHierarchicalAllreduce; Jia et al. 2018 (arXiv 1807.11205)",
      .file = "hierarchical.cpp",
      .make = make_hierarchical,
      .cost = hierarchical_cost,
      .refusal = hierarchical_refusal};
}

}  // namespace lockstep
