#include "strategies/collectives/rows.hpp"
#include "strategies/collectives/reduce_scatter/algorithms.hpp"
#include "strategies/collectives/row_helpers.hpp"
#include "strategies/collectives/schedules/ring_of_parts.hpp"

namespace lockstep {
namespace {

using namespace rows;

constexpr std::string_view kSent = "(n-1)/n*S";
constexpr std::string_view kLogRounds = "ceil(lg n)";
constexpr std::string_view kLogTime = "ceil(lg n)*alpha + (n-1)/n*S*beta + (n-1)/n*S*gamma";

}  // namespace

std::vector<CollectiveAlgorithm> reduce_scatter_rows() {
  return {
      {.collective = Collective::reduce_scatter,
       .name = "ring",
       .summary = "sums go round one cycle and grow by one contribution a hop",
       .parameters = {ring_channels_parameter()},
       .limits = kAnyRanks,
       .rounds = "n-1",
       .sent_per_rank = kSent,
       .time = "(n-1)*alpha + (n-1)/n*S*beta + (n-1)/n*S*gamma; channels that share no link "
               "divide beta by their number",
       .example = "ring:channels=8",
       .source = "Patarasuk and Yuan 2009, section 3",
       .file = "ring.cpp",
       .make =
           [](const AlgorithmInput& input) {
             const int channels = number(input, "channels");
             return channels == 1 ? reduce_scatter::make_ring(input.n)
                                  : make_ring_of_parts(input.n, channels, input.layout, true);
           },
       .cost = [](const AlgorithmInput& input) -> std::optional<CollectiveCost> {
         if (number(input, "channels") > 1) return std::nullopt;
         return reduce_scatter::ring_cost(input.n);
       },
       .estimate = [](const AlgorithmInput& input) -> std::optional<CollectiveCost> {
         return ring_of_parts_estimate(input.n, number(input, "channels"), true);
       }},
      {.collective = Collective::reduce_scatter,
       .name = "recursive_halving",
       .summary = "give half of what is left to the rank across the group, then halve the group",
       .limits = kAnyRanks,
       .rounds = "lg n; lg N' + 2 where n is not a power of two",
       .sent_per_rank = "(n-1)/n*S; S by an extra rank",
       .time = "lg n*alpha + (n-1)/n*S*(beta + gamma); where n is not a power of two "
               "(lg N' + 2)*alpha + (p+1)/n*S*beta + p/n*S*gamma, "
               "p = n + N'-1 + sum over k < lg N' of min(2^k, n-N')",
       .example = "recursive_halving",
       .source = kThakur,
       .file = "recursive_halving.cpp",
       .make = of_n<reduce_scatter::make_recursive_halving>,
       .cost = of_n<reduce_scatter::recursive_halving_cost>},
      {.collective = Collective::reduce_scatter,
       .name = "bruck",
       .summary = "give half of the run of blocks that is left to the rank as far ahead",
       .limits = kAnyRanks,
       .rounds = kLogRounds,
       .sent_per_rank = kSent,
       .time = kLogTime,
       .example = "bruck",
       .source = "Bruck, Ho, Kipnis, Upfal and Weathersby 1997, section 4; Traeff 2024, "
                 "arXiv 2410.14234",
       .file = "bruck.cpp",
       .make = of_n<reduce_scatter::make_bruck>,
       .cost = of_n<reduce_scatter::bruck_cost>},
      {.collective = Collective::reduce_scatter,
       .name = "direct",
       .summary = "everyone sends everyone the block that is theirs, all at once",
       .limits = kAnyRanks,
       .rounds = "1",
       .sent_per_rank = kSent,
       .time = "alpha + (n-1)/n*S*beta + (n-1)/n*S*gamma",
       .example = "direct",
       .source = "MSCCL all-pairs",
       .file = "direct.cpp",
       .make = of_n<reduce_scatter::make_direct>,
       .cost = of_n<reduce_scatter::direct_cost>},
      {.collective = Collective::reduce_scatter,
       .name = "pat",
       .summary =
           "parallel aggregated trees: neighbours first with much, far ranks last with little",
       .limits = kAnyRanks,
       .rounds = kLogRounds,
       .sent_per_rank = kSent,
       .time = kLogTime,
       .example = "pat",
       .source = "Jeaugey 2025, arXiv 2506.20252",
       .file = "pat.cpp",
       .make = of_n<reduce_scatter::make_pat>,
       .cost = of_n<reduce_scatter::pat_cost>},
  };
}

}  // namespace lockstep
