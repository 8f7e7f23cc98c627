#include <algorithm>

#include "strategies/collectives/all_reduce/inner.hpp"
#include "strategies/collectives/all_reduce/row_parts.hpp"
#include "strategies/collectives/chunk_count.hpp"
#include "strategies/collectives/row_helpers.hpp"
#include "strategies/collectives/schedules/ceil_lg.hpp"
#include "strategies/collectives/schedules/compose.hpp"
#include "strategies/collectives/schedules/node_switches.hpp"
#include "strategies/collectives/schedules/pipeline_rounds.hpp"

/// NVLS all-reduce: the switch inside every node of g ranks adds up and multicasts. Chunk by chunk
/// every rank sends all it has up to the switch, which adds and returns share i to the node's rank
/// i (a multimem load that reduces); across m nodes the ranks i do an all-reduce of their shares;
/// each stores its share in the switch, which multicasts it to all (a multimem store). Several
/// chunks are in flight at once, one in each stage.
/// In: n >= 1 ranks, S bytes on each, in nodes whose ranks share a switch; inner, an all-reduce
///   without auxiliary_ranks; c chunks. The switches are ranks n, n+1, ... Chunks: c*g times the
///   blocks of inner.
/// A rank receives as many bytes as it sends; a switch sends S + S/g to every rank. If c is not
///   given it follows from size, alpha and beta.
/// Reference: bytes per port, N+1 over N, in NVIDIA nccl-tests issue 212.
namespace lockstep {
namespace {

SchedulePtr make_nvls(const AlgorithmInput& input) {
  const int n = input.n;
  const int group = input.layout.per_node;
  const std::vector<int>& above = input.layout.node_switches;
  const int switches = static_cast<int>(std::ssize(above)) - n;
  const SchedulePtr across = make_inner(input, n / group, group);
  const std::int64_t share = across->blocks();
  const auto half = [&](Combine combine) {
    const std::vector<int> of_ranks{above.begin(), above.begin() + n};
    return Stage{.part = over_node_switches(n, group, of_ranks, switches, combine),
                 .members = n + switches,
                 .scale = share};
  };
  std::vector<Stage> stages;
  if (group > 1) stages.push_back(half(Combine::reduce));
  if (group < n)
    stages.push_back(
        {.part = across, .stride = group, .members = n, .offset = [group, share](int rank) {
           return rank % group * share;
         }});
  if (group > 1) stages.push_back(half(Combine::copy));
  return in_pipeline(n + switches, group * share, std::move(stages),
                     chunk_count(input, nvls_rounds(input)));
}

/// Every chunk goes up, down as a share, up as a share and down again: a stage each.
std::optional<CollectiveCost> nvls_estimate(const AlgorithmInput& input) {
  const int n = input.n;
  if (n == 1 || input.layout.per_node != n) return std::nullopt;
  const std::int64_t chunks = chunk_count(input, nvls_rounds(input));
  const std::int64_t blocks = chunks * (n + 1);
  return CollectiveCost{.rounds = chunks + 3, .path_blocks = blocks, .sent_blocks = blocks};
}

std::optional<std::string> nvls_refusal(const AlgorithmInput& input) {
  if (auto problem = node_switches_refusal(input)) return problem;
  const int group = input.layout.per_node;
  return inner_problem(input, input.n / group, group);
}

}  // namespace

/// What a chunk's rounds cost: over the switch as many as its bytes and the stages have, across
/// nodes inner's, with a node's ranks side by side.
PipelineRounds nvls_rounds(const AlgorithmInput& input) {
  const int group = input.layout.per_node;
  if (group == input.n) return {.fixed = 3};
  const auto across = inner_cost(input, input.n / group, group);
  const std::int64_t rounds = across ? across->rounds : std::int64_t{2} * ceil_lg(input.n / group);
  return {.fixed = 3, .per_chunk = group * std::max<std::int64_t>(1, rounds)};
}

CollectiveAlgorithm all_reduce_nvls_row() {
  return {.collective = Collective::all_reduce,
          .name = "nvls",
          .summary = "NVSwitches reduce and multicast; an all-reduce of shards across nodes",
          .parameters = {chunks_parameter(), rows::inner_parameter()},
          .limits =
              "switches that reduce inside the nodes; inner is not nvls, sharp or parameter_server",
          .rounds = "chunks + 3 on one node; across nodes inner's between the four of each chunk",
          .sent_per_rank = "(1 + 1/G)*S and inner's of S/G in nodes of G",
          .time = "about (chunks + 3)*alpha + (1 + 1/n)*S*beta on one node",
          .example = "nvls:chunks=16",
          .source = "NCCL 2.30.7, src/device/all_reduce.h; NVIDIA nccl-tests issue 212",
          .file = "nvls.cpp",
          .make = make_nvls,
          .estimate = nvls_estimate,
          .refusal = nvls_refusal,
          .auxiliary_ranks = AuxiliaryRanks::node_switches};
}

}  // namespace lockstep
