#include "strategies/collectives/rows.hpp"
#include "strategies/collectives/all_reduce/algorithms.hpp"
#include "strategies/collectives/all_reduce/bucket.hpp"
#include "strategies/collectives/chunk_count.hpp"
#include "strategies/collectives/row_helpers.hpp"

namespace lockstep {
namespace {

using namespace rows;

template <PeerOrder order>
SchedulePtr halving(const AlgorithmInput& input) {
  return make_halving_doubling(input.n, order);
}

/// Rings and trees side by side, each on its own slice.
AlgorithmParameter channels_parameter() {
  return {.name = "channels",
          .meaning = "how many side by side, each on a slice of its own and, in nodes, other NICs",
          .fallback = 1,
          .most = 64};
}

AlgorithmParameter inner_parameter() {
  return {.name = "inner",
          .meaning =
              "the all-reduce across nodes; its own parameters after colons, as in "
              "torus:dims=4x2:copies=1",
          .kind = ParameterKind::algorithm,
          .fallback = "ring"};
}

AlgorithmParameter dims_parameter() {
  return {.name = "dims",
          .meaning =
              "dimensions, consecutive ranks along the first; the torus, else ranks of a node "
              "by nodes, if not given",
          .kind = ParameterKind::dimensions};
}

constexpr std::string_view kBucketTime =
    "2*sum(p-1)*alpha + 2(n-1)/n*S*beta + (n-1)/n*S*gamma over dimensions p";

constexpr std::string_view kHalvingRounds = "2 lg n; 2 lg N' + 2 where n is not a power of two";
constexpr std::string_view kHalvingSent =
    "2(n-1)/n*S; S + 2(N'-1)/N'*S by the partner of an extra rank";
constexpr std::string_view kHalvingTime =
    "2 lg n*alpha + 2(n-1)/n*S*beta + (n-1)/n*S*gamma; where n is not a power of two "
    "(2 lg N' + 2)*alpha + 2(1 + (N'-1)/N')*S*beta + (1 + (N'-1)/N')*S*gamma";

constexpr std::string_view kDoublingRounds = "lg n; lg N' + 2 where n is not a power of two";
constexpr std::string_view kDoublingSent = "lg n*S; (lg N' + 1)*S by the partner of an extra rank";
constexpr std::string_view kDoublingTime =
    "lg n*(alpha + S*beta + S*gamma); where n is not a power of two "
    "(lg N' + 2)*(alpha + S*beta) + (lg N' + 1)*S*gamma";

constexpr std::string_view kSwing = "De Sensi et al. 2024 (arXiv 2401.09356), section 3";

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
         return parameter_server_cost(input.n);
       },
       .auxiliary_ranks = AuxiliaryRanks::hosts},
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
       .summary = "reduce-scatter, then all-gather, block by block round one cycle or several",
       .parameters = {channels_parameter()},
       .limits = kAnyRanks,
       .rounds = "2(n-1)",
       .sent_per_rank = "2(n-1)/n*S",
       .time = "2(n-1)*alpha + 2(n-1)/n*S*beta + (n-1)/n*S*gamma; channels that share no link "
               "divide beta by their number",
       .example = "ring:channels=8",
       .source = "Patarasuk and Yuan 2009, section 3; channels as in NCCL",
       .file = "ring.cpp",
       .make =
           [](const AlgorithmInput& input) {
             return make_ring(input.n, number(input, "channels"), input.layout);
           },
       .cost =
           [](const AlgorithmInput& input) {
             return ring_cost(input.n, number(input, "channels"));
           },
       .estimate = [](const AlgorithmInput& input) -> std::optional<CollectiveCost> {
         return ring_estimate(input.n, number(input, "channels"));
       }},
      {.collective = Collective::all_reduce,
       .name = "bidirectional_ring",
       .summary = "two rings, one each way round, on half of the data each",
       .limits = kAnyRanks,
       .rounds = "2(n-1)",
       .sent_per_rank = "2(n-1)/n*S",
       .time = "2(n-1)*alpha + 2(n-1)/n*S*beta + (n-1)/n*S*gamma; half the beta where both ways "
               "have ports of their own",
       .example = "bidirectional_ring",
       .source = "Patarasuk and Yuan 2009, section 3, both ways round",
       .file = "bidirectional_ring.cpp",
       .make =
           [](const AlgorithmInput& input) {
             return make_bidirectional_ring(input.n, input.layout);
           },
       .estimate = [](const AlgorithmInput& input) -> std::optional<CollectiveCost> {
         return ring_estimate(input.n, 2);
       }},
      {.collective = Collective::all_reduce,
       .name = "recursive_doubling",
       .summary = "exchange everything with ranks 1, 2, 4, ... away: few rounds, many bytes",
       .limits = kAnyRanks,
       .rounds = kDoublingRounds,
       .sent_per_rank = kDoublingSent,
       .time = kDoublingTime,
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
      {.collective = Collective::all_reduce,
       .name = "swing",
       .summary =
           "halving and doubling with peers 1, -1, 3, -5, 11, ... away: near on rings and tori",
       .limits = kAnyRanks,
       .rounds = kHalvingRounds,
       .sent_per_rank = kHalvingSent,
       .time = kHalvingTime,
       .example = "swing",
       .source = kSwing,
       .file = "swing.cpp",
       .make = of_n<make_swing>,
       .cost = of_n<halving_doubling_cost>},
      {.collective = Collective::all_reduce,
       .name = "swing_latency",
       .summary = "exchange everything with ranks 1, -1, 3, -5, 11, ... away",
       .limits = kAnyRanks,
       .rounds = kDoublingRounds,
       .sent_per_rank = kDoublingSent,
       .time = kDoublingTime,
       .example = "swing_latency",
       .source = kSwing,
       .file = "swing_latency.cpp",
       .make = of_n<make_swing_latency>,
       .cost = of_n<recursive_doubling_cost>},
      {.collective = Collective::all_reduce,
       .name = "binomial_tree",
       .summary = "binomial reduce to rank 0, then binomial broadcast: for short messages",
       .limits = kAnyRanks,
       .rounds = "2 ceil(lg n)",
       .sent_per_rank = "ceil(lg n)*S by rank 0",
       .time = "2 ceil(lg n)*(alpha + S*beta) + ceil(lg n)*S*gamma",
       .example = "binomial_tree",
       .source = kThakur,
       .file = "binomial_tree.cpp",
       .make = of_n<make_binomial_tree>,
       .cost = of_n<binomial_tree_cost>},
      {.collective = Collective::all_reduce,
       .name = "binary_tree",
       .summary = "up and down one binary tree, chunk after chunk",
       .parameters = {chunks_parameter()},
       .limits = kAnyRanks,
       .rounds = "chunks - 1 + 2 ceil(lg n)",
       .sent_per_rank = "3S by a rank with two children",
       .time = "about (chunks - 1 + 2 ceil(lg n))*(alpha + 3S/chunks*beta) with one rank a node",
       .example = "binary_tree:chunks=64",
       .source = "Sanders, Speck and Traeff 2009",
       .file = "binary_tree.cpp",
       .make = make_binary_tree,
       .estimate = binary_tree_estimate},
      {.collective = Collective::all_reduce,
       .name = "double_binary_tree",
       .summary = "half up and down one binary tree, half another whose inner ranks are its leaves",
       .parameters = {chunks_parameter(), channels_parameter()},
       .limits = kAnyRanks,
       .rounds = "chunks - 1 + 2 ceil(lg n)",
       .sent_per_rank = "2S; 1.5S where n is 3, S where n is 2",
       .time = "about (chunks - 1 + 2 ceil(lg n))*(alpha + 2S/chunks*beta) with one rank a node",
       .example = "double_binary_tree:channels=8,chunks=64",
       .source = "Sanders, Speck and Traeff 2009; as in NCCL",
       .file = "double_binary_tree.cpp",
       .make = make_double_binary_tree,
       .estimate = double_binary_tree_estimate},
      {.collective = Collective::all_reduce,
       .name = "hierarchical",
       .summary =
           "reduce-scatter in every node, all-reduces across nodes, all-gather in every node",
       .parameters = {{.name = "group",
                       .meaning =
                           "consecutive ranks that make a node; those of the cluster's if not "
                           "given"},
                      inner_parameter(),
                      {.name = "intra",
                       .meaning = "ring or direct inside nodes",
                       .kind = ParameterKind::algorithm,
                       .fallback = "ring"},
                      {.name = "chunks",
                       .meaning = "parts of the message that follow one another through the stages",
                       .fallback = 1,
                       .most = kMostChunks}},
       .limits = "group divides n; inner is not nvls, sharp (both hierarchies by themselves) or "
                 "parameter_server",
       .rounds = "2(group-1), or 2 with intra=direct, and inner's",
       .sent_per_rank = "2(group-1)/group*S and inner's of S/group",
       .time = "2(group-1)*alpha + 2(group-1)/group*S*beta + (group-1)/group*S*gamma and inner's "
               "for S/group",
       .example = "hierarchical:group=8,inner=ring:channels=2",
       .source = "Horovod NCCLHierarchicalAllreduce; Jia et al. 2018 (arXiv 1807.11205)",
       .file = "hierarchical.cpp",
       .make = make_hierarchical,
       .cost = hierarchical_cost,
       .refusal = hierarchical_refusal},
      {.collective = Collective::all_reduce,
       .name = "blueconnect",
       .summary = "ring reduce-scatters along one dimension after the other, all-gathers back",
       .parameters = {dims_parameter()},
       .limits = "n is the product of dims",
       .rounds = "2 sum(p-1) over dimensions p",
       .sent_per_rank = "2(n-1)/n*S",
       .time = kBucketTime,
       .example = "blueconnect:dims=8x4",
       .source = "Cho et al. 2019 (BlueConnect)",
       .file = "blueconnect.cpp",
       .make = make_blueconnect,
       .cost = blueconnect_cost,
       .refusal = grid_refusal},
      {.collective = Collective::all_reduce,
       .name = "torus",
       .summary = "blueconnect in several copies that begin with other dimensions and ways round",
       .parameters = {{.name = "copies",
                       .meaning =
                           "both ways along every dimension if not given; one per dimension: "
                           "one way"},
                      dims_parameter()},
       .limits = "n is the product of dims; copies <= 2 per dimension",
       .rounds = "2 sum(p-1) over dimensions p",
       .sent_per_rank = "2(n-1)/n*S",
       .time = "2*sum(p-1)*alpha + 2(n-1)/n*S*beta + (n-1)/n*S*gamma for one copy; copies that "
               "share no link divide beta by their number",
       .example = "torus:copies=4,dims=4x4",
       .source = "Jain and Sabharwal 2010; Mikami et al. 2018 (arXiv 1811.05233)",
       .file = "torus.cpp",
       .make = make_torus,
       .cost = torus_cost,
       .estimate = torus_estimate,
       .refusal = torus_refusal},
      {.collective = Collective::all_reduce,
       .name = "nvls",
       .summary = "the nodes' switches add up and multicast; across nodes an all-reduce of shares",
       .parameters = {chunks_parameter(), inner_parameter()},
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
       .auxiliary_ranks = AuxiliaryRanks::node_switches},
      {.collective = Collective::all_reduce,
       .name = "sharp",
       .summary = "the network's switches add up and multicast, shares of nodes rail by rail",
       .parameters = {chunks_parameter()},
       .limits = "switches that reduce in the network",
       .rounds = "chunks - 1 + 2 per level of switches, and 2 inside nodes",
       .sent_per_rank = "S/G to the network and 2(G-1)/G*S inside nodes of G",
       .time = "about (chunks - 1 + 2 levels)*alpha + S*beta with one rank a node",
       .example = "sharp:chunks=16",
       .source = "Graham et al. 2016 (SHArP)",
       .file = "sharp.cpp",
       .make = make_sharp,
       .estimate = sharp_estimate,
       .refusal = sharp_refusal,
       .auxiliary_ranks = AuxiliaryRanks::fabric_switches},
  };
}

}  // namespace lockstep
