#include "strategies/collectives/rows.hpp"
#include "strategies/collectives/reduce/algorithms.hpp"
#include "strategies/collectives/row_helpers.hpp"
#include "strategies/collectives/schedules/rooted.hpp"

namespace lockstep {
namespace {

using namespace rows;

}  // namespace

std::vector<CollectiveAlgorithm> reduce_rows() {
  return {
      {.collective = Collective::reduce,
       .name = "flat",
       .summary = "the root takes everybody's data one after the other and adds it up",
       .limits = kAnyRanks,
       .rounds = "n-1",
       .sent_per_rank = "S by all but the root",
       .time = "(n-1)*(alpha + S*beta + S*gamma)",
       .example = "flat",
       .source = "Chan, Heimlich, Purkayastha and van de Geijn 2007, section 2",
       .file = "flat.cpp",
       .make = of_root<reduce::make_flat>,
       .cost = of_n<reduce::flat_cost>},
      {.collective = Collective::reduce,
       .name = "binomial",
       .summary = "pairs add up, then pairs of pairs: half as many sums after every round",
       .limits = kAnyRanks,
       .rounds = "ceil(lg n)",
       .sent_per_rank = "S by all but the root",
       .time = "ceil(lg n)*(alpha + S*beta + S*gamma)",
       .example = "binomial",
       .source = kThakur,
       .file = "binomial.cpp",
       .make = of_root<reduce::make_binomial>,
       .cost = of_n<reduce::binomial_cost>},
      {.collective = Collective::reduce,
       .name = "chain",
       .summary =
           "sums run from rank to rank, chunk after chunk: the whole bandwidth of every port",
       .parameters = {chunks_parameter()},
       .limits = kAnyRanks,
       .rounds = "n-2 + chunks; 0 for n = 1",
       .sent_per_rank = "S by all but the root",
       .time = "(n-2 + chunks)*(alpha + S/chunks*beta + S/chunks*gamma); best with "
               "chunks = sqrt((n-2)*S*(beta + gamma)/alpha)",
       .example = "chain:chunks=16",
       .source = "Pjesivac-Grbovic et al. 2007",
       .file = "chain.cpp",
       .make =
           [](const AlgorithmInput& input) {
             return reduce::make_chain(input.n, input.root,
                                       chunk_count(input, reduce::chain_rounds(input.n)));
           },
       .cost = [](const AlgorithmInput& input) -> std::optional<CollectiveCost> {
         return reduce::chain_cost(input.n, chunk_count(input, reduce::chain_rounds(input.n)));
       }},
      {.collective = Collective::reduce,
       .name = "reduce_scatter_gather",
       .summary = "recursive halving, then a binomial gather (Rabenseifner)",
       .limits = kAnyRanks,
       .rounds = "2 lg n; 2 lg N' + 1 where n is not a power of two",
       .sent_per_rank = "(N'-1)/N'*S + S/2 at most",
       .time = "2 lg n*alpha + 2(n-1)/n*S*beta + (n-1)/n*S*gamma; where n is not a power of two "
               "(2 lg N' + 1)*alpha + (1 + 2(N'-1)/N')*S*beta + (1 + (N'-1)/N')*S*gamma",
       .example = "reduce_scatter_gather",
       .source = "Rabenseifner 2004; Thakur, Rabenseifner and Gropp 2005, section 4",
       .file = "reduce_scatter_gather.cpp",
       .make = of_root<reduce::make_reduce_scatter_gather>,
       .cost = of_n<reduce::reduce_scatter_gather_cost>},
  };
}

}  // namespace lockstep
