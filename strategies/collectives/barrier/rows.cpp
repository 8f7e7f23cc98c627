#include "strategies/collectives/rows.hpp"
#include "strategies/collectives/barrier/algorithms.hpp"
#include "strategies/collectives/row_helpers.hpp"

namespace lockstep {
namespace {

using namespace rows;

constexpr std::string_view kNothing = "0 (messages are empty)";

}  // namespace

std::vector<CollectiveAlgorithm> barrier_rows() {
  return {
      {.collective = Collective::barrier,
       .name = "flat",
       .summary = "rank 0 counts everybody in one by one, then lets everybody go one by one",
       .limits = kAnyRanks,
       .rounds = "2(n-1)",
       .sent_per_rank = kNothing,
       .time = "2(n-1)*alpha",
       .example = "flat",
       .source = "Mellor-Crummey and Scott 1991, section 3.1",
       .file = "flat.cpp",
       .make = of_n<barrier::make_flat>,
       .cost = of_n<barrier::flat_cost>},
      {.collective = Collective::barrier,
       .name = "binomial",
       .summary = "ranks are counted up a binomial tree and let go down the same tree",
       .limits = kAnyRanks,
       .rounds = "2*ceil(lg n)",
       .sent_per_rank = kNothing,
       .time = "2*ceil(lg n)*alpha",
       .example = "binomial",
       .source = "Mellor-Crummey and Scott 1991, section 3.2",
       .file = "binomial.cpp",
       .make = of_n<barrier::make_binomial>,
       .cost = of_n<barrier::binomial_cost>},
      {.collective = Collective::barrier,
       .name = "dissemination",
       .summary = "tell the ranks 1, 2, 4, ... ahead of all one has heard of",
       .limits = kAnyRanks,
       .rounds = "ceil(lg n)",
       .sent_per_rank = kNothing,
       .time = "ceil(lg n)*alpha",
       .example = "dissemination",
       .source = "Hensgen, Finkel and Manber 1988",
       .file = "dissemination.cpp",
       .make = of_n<barrier::make_dissemination>,
       .cost = of_n<barrier::dissemination_cost>},
  };
}

}  // namespace lockstep
