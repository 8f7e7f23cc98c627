#include "strategies/collectives/rows.hpp"
#include "strategies/collectives/row_helpers.hpp"
#include "strategies/collectives/scatter/algorithms.hpp"
#include "strategies/collectives/schedules/rooted.hpp"

namespace lockstep {
namespace {

using namespace rows;

constexpr std::string_view kSent = "(n-1)/n*S by the root";

}  // namespace

std::vector<CollectiveAlgorithm> scatter_rows() {
  return {
      {.collective = Collective::scatter,
       .name = "flat",
       .summary = "the root sends every rank its part, one after the other",
       .limits = kAnyRanks,
       .rounds = "n-1",
       .sent_per_rank = kSent,
       .time = "(n-1)*alpha + (n-1)/n*S*beta",
       .example = "flat",
       .source = "Chan, Heimlich, Purkayastha and van de Geijn 2007, section 2",
       .file = "flat.cpp",
       .make = of_root<scatter::make_flat>,
       .cost = of_n<scatter::flat_cost>},
      {.collective = Collective::scatter,
       .name = "direct",
       .summary = "the root posts every rank's part at once",
       .limits = kAnyRanks,
       .rounds = "1",
       .sent_per_rank = kSent,
       .time = "alpha + (n-1)/n*S*beta",
       .example = "direct",
       .source = "NCCL, grouped sends and receives",
       .file = "direct.cpp",
       .make = of_root<scatter::make_direct>,
       .cost = of_n<scatter::direct_cost>},
      {.collective = Collective::scatter,
       .name = "binomial",
       .summary = "whoever holds the parts of a run of ranks gives half of them away",
       .limits = kAnyRanks,
       .rounds = "ceil(lg n)",
       .sent_per_rank = "(n-1)/n*S by the root, less by others",
       .time = "ceil(lg n)*alpha + (n-1)/n*S*beta",
       .example = "binomial",
       .source = "Chan, Heimlich, Purkayastha and van de Geijn 2007",
       .file = "binomial.cpp",
       .make = of_root<scatter::make_binomial>,
       .cost = of_n<scatter::binomial_cost>},
  };
}

}  // namespace lockstep
