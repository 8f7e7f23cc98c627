#include "strategies/collectives/rows.hpp"
#include "strategies/collectives/all_reduce/algorithms.hpp"
#include "strategies/collectives/row_helpers.hpp"

namespace lockstep {
namespace {

using namespace rows;

template <PeerOrder order>
SchedulePtr halving(const AlgorithmInput& input) {
  return make_halving_doubling(input.n, order);
}

constexpr std::string_view kHalvingRounds = "2 lg n; 2 lg N' + 2 where n is not a power of two";
constexpr std::string_view kHalvingSent =
    "2(n-1)/n*S; S + 2(N'-1)/N'*S by the partner of an extra rank";
constexpr std::string_view kHalvingTime =
    "2 lg n*alpha + 2(n-1)/n*S*beta + (n-1)/n*S*gamma; where n is not a power of two "
    "(2 lg N' + 2)*alpha + 2(1 + (N'-1)/N')*S*beta + (1 + (N'-1)/N')*S*gamma";

}  // namespace

std::vector<CollectiveAlgorithm> all_reduce_rows() {
  return {
      {.collective = Collective::all_reduce,
       .name = "naive",
       .summary = "rank 0 takes everybody's data one by one, then sends the sum one by one",
       .limits = kAnyRanks,
       .rounds = "2(n-1)",
       .sent_per_rank = "(n-1)*S by rank 0, S by every other",
       .time = "2(n-1)*(alpha + S*beta) + (n-1)*S*gamma",
       .example = "naive",
       .source = "Chan, Heimlich, Purkayastha and van de Geijn 2007, section 2",
       .file = "naive.cpp",
       .make = of_n<make_naive>,
       .cost = of_n<naive_cost>},
      {.collective = Collective::all_reduce,
       .name = "parameter_server",
       .summary = "workers push shards to dedicated servers, which add up and send back",
       .parameters = {{.name = "shards",
                       .meaning = "servers, each a further host that owns one shard",
                       .fallback = 1}},
       .limits = "n >= 1 workers, shards <= n",
       .rounds = "2",
       .sent_per_rank = "S by a worker, n*S/shards by a server",
       .time = "2*alpha + 2*n/shards*S*beta + n/shards*S*gamma",
       .example = "parameter_server:shards=4",
       .source = "Li et al. 2014, sections 2-3",
       .file = "parameter_server.cpp",
       .make =
           [](const AlgorithmInput& input) {
             return make_parameter_server(input.n, number(input, "shards"));
           },
       .cost = [](const AlgorithmInput& input) -> std::optional<CollectiveCost> {
         return parameter_server_cost(input.n, number(input, "shards"));
       },
       .helpers = Helpers::hosts},
      {.collective = Collective::all_reduce,
       .name = "one_shot",
       .summary = "everyone sends everything to everyone, in one round",
       .limits = kAnyRanks,
       .rounds = "1",
       .sent_per_rank = "(n-1)*S",
       .time = "alpha + (n-1)*S*beta + (n-1)*S*gamma",
       .example = "one_shot",
       .source = "MSCCL all-pairs one-pass; vLLM and TensorRT-LLM one-shot",
       .file = "one_shot.cpp",
       .make = of_n<make_one_shot>,
       .cost = of_n<one_shot_cost>},
      {.collective = Collective::all_reduce,
       .name = "direct",
       .summary = "reduce-scatter, then all-gather, each all-to-all in one round",
       .limits = kAnyRanks,
       .rounds = "2",
       .sent_per_rank = "2(n-1)/n*S",
       .time = "2*alpha + 2(n-1)/n*S*beta + (n-1)/n*S*gamma",
       .example = "direct",
       .source = "MSCCL all-pairs; TensorRT-LLM and vLLM two-shot",
       .file = "direct.cpp",
       .make = of_n<make_direct>,
       .cost = of_n<direct_cost>},
      {.collective = Collective::all_reduce,
       .name = "ring",
       .summary = "reduce-scatter, then all-gather, block by block round one cycle",
       .limits = kAnyRanks,
       .rounds = "2(n-1)",
       .sent_per_rank = "2(n-1)/n*S",
       .time = "2(n-1)*alpha + 2(n-1)/n*S*beta + (n-1)/n*S*gamma",
       .example = "ring",
       .source = "Patarasuk and Yuan 2009, section 3",
       .file = "ring.cpp",
       .make = of_n<make_ring>,
       .cost = of_n<ring_cost>},
      {.collective = Collective::all_reduce,
       .name = "recursive_doubling",
       .summary = "exchange everything with ranks 1, 2, 4, ... away: few rounds, many bytes",
       .limits = kAnyRanks,
       .rounds = "lg n; lg N' + 2 where n is not a power of two",
       .sent_per_rank = "lg n*S; (lg N' + 1)*S by the partner of an extra rank",
       .time = "lg n*(alpha + S*beta + S*gamma); where n is not a power of two "
               "(lg N' + 2)*(alpha + S*beta) + (lg N' + 1)*S*gamma",
       .example = "recursive_doubling",
       .source = kThakur,
       .file = "recursive_doubling.cpp",
       .make = of_n<make_recursive_doubling>,
       .cost = of_n<recursive_doubling_cost>},
      {.collective = Collective::all_reduce,
       .name = "halving_doubling",
       .summary = "recursive halving, then recursive doubling; the largest blocks go furthest",
       .limits = kAnyRanks,
       .rounds = kHalvingRounds,
       .sent_per_rank = kHalvingSent,
       .time = kHalvingTime,
       .example = "halving_doubling",
       .source = kThakur,
       .file = "halving_doubling.cpp",
       .make = halving<PeerOrder::far_first>,
       .cost = of_n<halving_doubling_cost>},
      {.collective = Collective::all_reduce,
       .name = "halving_doubling_near",
       .summary = "recursive halving, then recursive doubling; the largest blocks go to neighbours",
       .limits = kAnyRanks,
       .rounds = kHalvingRounds,
       .sent_per_rank = kHalvingSent,
       .time = kHalvingTime,
       .example = "halving_doubling_near",
       .source = kThakur,
       .file = "halving_doubling.cpp",
       .make = halving<PeerOrder::near_first>,
       .cost = of_n<halving_doubling_cost>},
  };
}

}  // namespace lockstep
