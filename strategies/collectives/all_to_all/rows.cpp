#include "strategies/collectives/rows.hpp"

#include <fmt/format.h>

#include "strategies/collectives/all_to_all/algorithms.hpp"
#include "strategies/collectives/row_helpers.hpp"

namespace lockstep {
namespace {

using namespace rows;

constexpr std::string_view kSent = "(n-1)/n*S";

template <std::optional<CollectiveCost> (*cost)(int)>
std::optional<CollectiveCost> if_any(const AlgorithmInput& input) {
  return cost(input.n);
}

int group_of(const AlgorithmInput& input) {
  return static_cast<int>(input.number("group").value_or(input.layout.per_node));
}

std::optional<std::string> uneven_nodes(const AlgorithmInput& input) {
  const auto unequal = input.layout.unequal_nodes();
  if (unequal && !input.number("group"))
    return *unequal + "; needs equal groups: say of how many, as in group=2";
  const int group = group_of(input);
  if (input.n % group == 0) return std::nullopt;
  return fmt::format("nodes of {} ranks do not divide {} ranks", group, input.n);
}

}  // namespace

std::vector<CollectiveAlgorithm> all_to_all_rows() {
  return {
      {.collective = Collective::all_to_all,
       .name = "pairwise",
       .summary = "one block to one rank, one from one, in every round",
       .limits = kAnyRanks,
       .rounds = "n-1",
       .sent_per_rank = kSent,
       .time = "(n-1)*alpha + (n-1)/n*S*beta",
       .example = "pairwise",
       .source = kThakur,
       .file = "pairwise.cpp",
       .make = of_n<all_to_all::make_pairwise>,
       .cost = if_any<all_to_all::pairwise_cost>},
      {.collective = Collective::all_to_all,
       .name = "direct",
       .summary = "everyone posts all its blocks at once",
       .limits = kAnyRanks,
       .rounds = "1",
       .sent_per_rank = kSent,
       .time = "alpha + (n-1)/n*S*beta",
       .example = "direct",
       .source = "NCCL, grouped sends and receives; Open MPI's linear all-to-all",
       .file = "direct.cpp",
       .make = of_n<all_to_all::make_direct>,
       .cost = if_any<all_to_all::direct_cost>},
      {.collective = Collective::all_to_all,
       .name = "bruck",
       .summary = "blocks travel by the binary digits of their way: few rounds, more bytes",
       .limits = kAnyRanks,
       .rounds = "ceil(lg n)",
       .sent_per_rank = "lg n/2*S; less where n is not a power of two",
       .time = "ceil(lg n)*alpha + lg n/2*S*beta; less where n is not a power "
               "of two",
       .example = "bruck",
       .source = "Bruck, Ho, Kipnis, Upfal and Weathersby 1997, section 3",
       .file = "bruck.cpp",
       .make = of_n<all_to_all::make_bruck>,
       .cost = if_any<all_to_all::bruck_cost>},
      {.collective = Collective::all_to_all,
       .name = "hierarchical",
       .summary = "within nodes to the rail of the receiver, then across nodes along rails",
       .parameters = {{.name = "group", .meaning = "ranks of a node; the cluster's if not given"}},
       .limits = "n >= 1, group divides n",
       .rounds = "2; 1 where group is 1 or n",
       .sent_per_rank = "((group-1)/group + (n-group)/n)*S",
       .time = "2*alpha + ((group-1)/group + (n-group)/n)*S*beta",
       .example = "hierarchical:group=8",
       .source = "NCCL 2.12 (PXN); MSCCL two-step all-to-all",
       .file = "hierarchical.cpp",
       .make =
           [](const AlgorithmInput& input) {
             return all_to_all::make_hierarchical(input.n, group_of(input));
           },
       .cost =
           [](const AlgorithmInput& input) {
             return all_to_all::hierarchical_cost(input.n, group_of(input));
           },
       .refusal = uneven_nodes},
  };
}

}  // namespace lockstep
