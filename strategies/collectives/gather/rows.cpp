#include "strategies/collectives/rows.hpp"
#include "strategies/collectives/gather/algorithms.hpp"
#include "strategies/collectives/row_helpers.hpp"
#include "strategies/collectives/schedules/rooted.hpp"

namespace lockstep {
namespace {

using namespace rows;

constexpr std::string_view kSent = "S/n by all but the root";

}  // namespace

std::vector<CollectiveAlgorithm> gather_rows() {
  return {
      {.collective = Collective::gather,
       .name = "flat",
       .summary = "the root takes every rank's part, one after the other",
       .limits = kAnyRanks,
       .rounds = "n-1",
       .sent_per_rank = kSent,
       .time = "(n-1)*alpha + (n-1)/n*S*beta",
       .example = "flat",
       .source = "Chan, Heimlich, Purkayastha and van de Geijn 2007, section 2",
       .file = "flat.cpp",
       .make = of_root<gather::make_flat>,
       .cost = of_n<gather::flat_cost>},
      {.collective = Collective::gather,
       .name = "direct",
       .summary = "every rank sends the root its part at once",
       .limits = kAnyRanks,
       .rounds = "1",
       .sent_per_rank = kSent,
       .time = "alpha + (n-1)/n*S*beta",
       .example = "direct",
       .source = "NCCL, grouped sends and receives",
       .file = "direct.cpp",
       .make = of_root<gather::make_direct>,
       .cost = of_n<gather::direct_cost>},
      {.collective = Collective::gather,
       .name = "binomial",
       .summary = "pairs put their parts together, then pairs of pairs",
       .limits = kAnyRanks,
       .rounds = "ceil(lg n)",
       .sent_per_rank = "max(n - N/2, N/4)/n*S at most, N = 2^ceil(lg n)",
       .time = "ceil(lg n)*alpha + (n-1)/n*S*beta",
       .example = "binomial",
       .source = "Chan, Heimlich, Purkayastha and van de Geijn 2007",
       .file = "binomial.cpp",
       .make = of_root<gather::make_binomial>,
       .cost = of_n<gather::binomial_cost>},
  };
}

}  // namespace lockstep
