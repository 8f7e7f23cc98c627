#include "strategies/collectives/rows.hpp"
#include "strategies/collectives/broadcast/algorithms.hpp"
#include "strategies/collectives/row_helpers.hpp"
#include "strategies/collectives/schedules/rooted.hpp"

namespace lockstep {
namespace {

using namespace rows;

constexpr std::string_view kPjesivac = "Pjesivac-Grbovic et al. 2007";

}  // namespace

std::vector<CollectiveAlgorithm> broadcast_rows() {
  return {
      {.collective = Collective::broadcast,
       .name = "flat",
       .summary = "the root sends everything to one rank after the other",
       .limits = kAnyRanks,
       .rounds = "n-1",
       .sent_per_rank = "(n-1)*S by the root",
       .time = "(n-1)*(alpha + S*beta)",
       .example = "flat",
       .source = "Chan, Heimlich, Purkayastha and van de Geijn 2007, section 2",
       .file = "flat.cpp",
       .make = of_root<broadcast::make_flat>,
       .cost = of_n<broadcast::flat_cost>},
      {.collective = Collective::broadcast,
       .name = "binomial",
       .summary = "who has the message gives it on: twice as many have it after every round",
       .limits = kAnyRanks,
       .rounds = "ceil(lg n)",
       .sent_per_rank = "ceil(lg n)*S by the root, less by others",
       .time = "ceil(lg n)*(alpha + S*beta)",
       .example = "binomial",
       .source = kThakur,
       .file = "binomial.cpp",
       .make = of_root<broadcast::make_binomial>,
       .cost = of_n<broadcast::binomial_cost>},
      {.collective = Collective::broadcast,
       .name = "chain",
       .summary = "from rank to rank, chunk after chunk: the whole bandwidth of every port",
       .parameters = {chunks_parameter()},
       .limits = kAnyRanks,
       .rounds = "n-2 + chunks; 0 for n = 1",
       .sent_per_rank = "S",
       .time = "(n-2 + chunks)*(alpha + S/chunks*beta); best with "
               "chunks = sqrt((n-2)*S*beta/alpha)",
       .example = "chain:chunks=16",
       .source = kPjesivac,
       .file = "chain.cpp",
       .make =
           [](const AlgorithmInput& input) {
             return broadcast::make_chain(input.n, input.root,
                                          chunk_count(input, broadcast::chain_rounds(input.n)));
           },
       .cost = [](const AlgorithmInput& input) -> std::optional<CollectiveCost> {
         return broadcast::chain_cost(input.n,
                                      chunk_count(input, broadcast::chain_rounds(input.n)));
       }},
      {.collective = Collective::broadcast,
       .name = "binary_tree",
       .summary = "down a tree with two children each, chunk after chunk",
       .parameters = {chunks_parameter()},
       .limits = kAnyRanks,
       .rounds =
           "h + 2*chunks - 1, h at most 2*floor(lg n) - 1 rounds to the last rank; chunks for "
           "n = 2",
       .sent_per_rank = "2*S; S for n = 2",
       .time = "(h + 2*chunks - 1)*(alpha + S/chunks*beta)",
       .example = "binary_tree:chunks=16",
       .source = kPjesivac,
       .file = "binary_tree.cpp",
       .make =
           [](const AlgorithmInput& input) {
             return broadcast::make_binary_tree(
                 input.n, input.root, chunk_count(input, broadcast::binary_tree_rounds(input.n)));
           },
       .cost = [](const AlgorithmInput& input) -> std::optional<CollectiveCost> {
         return broadcast::binary_tree_cost(
             input.n, chunk_count(input, broadcast::binary_tree_rounds(input.n)));
       }},
      {.collective = Collective::broadcast,
       .name = "scatter_all_gather",
       .summary = "scatter down a binomial tree, then all-gather round a ring (van de Geijn)",
       .limits = kAnyRanks,
       .rounds = "ceil(lg n) + n-1",
       .sent_per_rank = "2(n-1)/n*S by the root, less by others",
       .time = "(ceil(lg n) + n-1)*alpha + 2(n-1)/n*S*beta",
       .example = "scatter_all_gather",
       .source = "Barnett et al. 1994; Thakur, Rabenseifner and Gropp 2005, section 4",
       .file = "scatter_all_gather.cpp",
       .make = of_root<broadcast::make_scatter_ring>,
       .cost = of_n<broadcast::scatter_ring_cost>},
      {.collective = Collective::broadcast,
       .name = "scatter_doubling",
       .summary = "scatter down a binomial tree, then all-gather by recursive doubling",
       .limits = kAnyRanks,
       .rounds = "2 lg n; 2 lg N' + 1 where n is not a power of two",
       .sent_per_rank = "2(n-1)/n*S by the root; S more where n is not a power of two",
       .time = "2 lg n*alpha + 2(n-1)/n*S*beta; where n is not a power of two "
               "(2 lg N' + 1)*alpha + (1 + 2(N'-1)/N')*S*beta",
       .example = "scatter_doubling",
       .source = kThakur,
       .file = "scatter_all_gather.cpp",
       .make = of_root<broadcast::make_scatter_doubling>,
       .cost = of_n<broadcast::scatter_doubling_cost>},
  };
}

}  // namespace lockstep
