#include "strategies/collectives/rows.hpp"
#include "strategies/collectives/all_gather/algorithms.hpp"
#include "strategies/collectives/row_helpers.hpp"
#include "strategies/collectives/schedules/ring_of_parts.hpp"

namespace lockstep {
namespace {

using namespace rows;

constexpr std::string_view kSent = "(n-1)/n*S";
constexpr std::string_view kLogRounds = "ceil(lg n)";
constexpr std::string_view kLogTime = "ceil(lg n)*alpha + (n-1)/n*S*beta";

std::optional<std::string> odd_ranks(const AlgorithmInput& input) {
  if (input.n == 1 || input.n % 2 == 0) return std::nullopt;
  return "needs an even number of ranks, got " + std::to_string(input.n);
}

}  // namespace

std::vector<CollectiveAlgorithm> all_gather_rows() {
  return {
      {.collective = Collective::all_gather,
       .name = "ring",
       .summary = "block by block round one cycle or several",
       .parameters = {ring_channels_parameter()},
       .limits = kAnyRanks,
       .rounds = "n-1",
       .sent_per_rank = kSent,
       .time = "(n-1)*alpha + (n-1)/n*S*beta; channels that share no link divide beta by their "
               "number",
       .example = "ring:channels=8",
       .source = "Chan, Heimlich, Purkayastha and van de Geijn 2007",
       .file = "ring.cpp",
       .make =
           [](const AlgorithmInput& input) {
             const int channels = number(input, "channels");
             return channels == 1 ? all_gather::make_ring(input.n)
                                  : make_ring_of_parts(input.n, channels, input.layout, false);
           },
       .cost = [](const AlgorithmInput& input) -> std::optional<CollectiveCost> {
         if (number(input, "channels") > 1) return std::nullopt;
         return all_gather::ring_cost(input.n);
       },
       .estimate = [](const AlgorithmInput& input) -> std::optional<CollectiveCost> {
         return ring_of_parts_estimate(input.n, number(input, "channels"), false);
       }},
      {.collective = Collective::all_gather,
       .name = "recursive_doubling",
       .summary = "exchange all there is with ranks 1, 2, 4, ... away",
       .limits = kAnyRanks,
       .rounds = "lg n; lg N' + 2 where n is not a power of two",
       .sent_per_rank = "(n-1)/n*S; less than three times as much by the partner of an extra rank",
       .time = "lg n*alpha + (n-1)/n*S*beta; where n is not a power of two (lg N' + 2)*alpha + "
               "(n + N'-1 + sum over k < lg N' of min(2^k, n-N'))/n*S*beta",
       .example = "recursive_doubling",
       .source = kThakur,
       .file = "recursive_doubling.cpp",
       .make = of_n<all_gather::make_recursive_doubling>,
       .cost = of_n<all_gather::recursive_doubling_cost>},
      {.collective = Collective::all_gather,
       .name = "bruck",
       .summary = "send all there is 1, 2, 4, ... ranks back; turn the blocks round at the end",
       .limits = kAnyRanks,
       .rounds = kLogRounds,
       .sent_per_rank = kSent,
       .time = kLogTime,
       .example = "bruck",
       .source = "Bruck, Ho, Kipnis, Upfal and Weathersby 1997, section 4",
       .file = "bruck.cpp",
       .make = of_n<all_gather::make_bruck>,
       .cost = of_n<all_gather::bruck_cost>},
      {.collective = Collective::all_gather,
       .name = "direct",
       .summary = "everyone sends its block to everyone, all at once",
       .limits = kAnyRanks,
       .rounds = "1",
       .sent_per_rank = kSent,
       .time = "alpha + (n-1)/n*S*beta",
       .example = "direct",
       .source = "MSCCL all-pairs; Open MPI's linear all-gather",
       .file = "direct.cpp",
       .make = of_n<all_gather::make_direct>,
       .cost = of_n<all_gather::direct_cost>},
      {.collective = Collective::all_gather,
       .name = "neighbour_exchange",
       .summary = "exchange with one neighbour, then the other: half the rounds of a ring",
       .limits = "n even, or 1",
       .rounds = "n/2; 0 for n = 1",
       .sent_per_rank = kSent,
       .time = "n/2*alpha + (n-1)/n*S*beta",
       .example = "neighbour_exchange",
       .source = "Chen, Zhang, Zhang and Yuan 2005",
       .file = "neighbour_exchange.cpp",
       .make = of_n<all_gather::make_neighbour_exchange>,
       .cost = of_n<all_gather::neighbour_exchange_cost>,
       .refusal = odd_ranks},
      {.collective = Collective::all_gather,
       .name = "pat",
       .summary =
           "parallel aggregated trees: far ranks first with little, neighbours last with much",
       .limits = kAnyRanks,
       .rounds = kLogRounds,
       .sent_per_rank = kSent,
       .time = kLogTime,
       .example = "pat",
       .source = "Jeaugey 2025, arXiv 2506.20252",
       .file = "pat.cpp",
       .make = of_n<all_gather::make_pat>,
       .cost = of_n<all_gather::pat_cost>},
  };
}

}  // namespace lockstep
