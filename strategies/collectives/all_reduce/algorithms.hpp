#pragma once

#include "strategies/collectives/algorithm.hpp"

/// Every all-reduce algorithm: a function that makes its schedule, its closed form where it has
/// one, and what it refuses. Each is described in the file of its name. All are pure and take n >=
/// 1 ranks that hold data; one rank alone has nothing to do.
namespace lockstep {

[[nodiscard]] SchedulePtr make_naive(int n);
[[nodiscard]] CollectiveCost naive_cost(int n);

/// 1 <= shards <= n.
[[nodiscard]] SchedulePtr make_parameter_server(int n, int shards);
[[nodiscard]] CollectiveCost parameter_server_cost(int n);

[[nodiscard]] SchedulePtr make_one_shot(int n);
[[nodiscard]] CollectiveCost one_shot_cost(int n);

[[nodiscard]] SchedulePtr make_direct(int n);
[[nodiscard]] CollectiveCost direct_cost(int n);

/// One channel, the ranks in order.
[[nodiscard]] SchedulePtr make_plain_ring(int n);
[[nodiscard]] SchedulePtr make_ring(int n, int channels, const RankLayout& layout);
[[nodiscard]] std::optional<CollectiveCost> ring_cost(int n, int channels);
/// Where channels share a port and a short message's rounds do not overlap.
[[nodiscard]] CollectiveCost ring_estimate(int n, int channels);

[[nodiscard]] SchedulePtr make_bidirectional_ring(int n, const RankLayout& layout);

[[nodiscard]] SchedulePtr make_recursive_doubling(int n);
[[nodiscard]] CollectiveCost recursive_doubling_cost(int n);

/// Which peer the largest blocks go to.
enum class PeerOrder { far_first, near_first };
[[nodiscard]] SchedulePtr make_halving_doubling(int n, PeerOrder order);
[[nodiscard]] CollectiveCost halving_doubling_cost(int n);

/// Their closed forms are those of halving-doubling and of recursive doubling.
[[nodiscard]] SchedulePtr make_swing(int n);
[[nodiscard]] SchedulePtr make_swing_latency(int n);

[[nodiscard]] SchedulePtr make_binomial_tree(int n);
[[nodiscard]] CollectiveCost binomial_tree_cost(int n);

/// These read the input: parameters, the ranks' layout, size and hop.
[[nodiscard]] SchedulePtr make_binary_tree(const AlgorithmInput& input);
[[nodiscard]] std::optional<CollectiveCost> binary_tree_estimate(const AlgorithmInput& input);
[[nodiscard]] SchedulePtr make_double_binary_tree(const AlgorithmInput& input);
[[nodiscard]] std::optional<CollectiveCost> double_binary_tree_estimate(
    const AlgorithmInput& input);

[[nodiscard]] SchedulePtr make_hierarchical(const AlgorithmInput& input);
[[nodiscard]] std::optional<CollectiveCost> hierarchical_cost(const AlgorithmInput& input);
[[nodiscard]] std::optional<std::string> hierarchical_refusal(const AlgorithmInput& input);

[[nodiscard]] SchedulePtr make_blueconnect(const AlgorithmInput& input);
[[nodiscard]] std::optional<CollectiveCost> blueconnect_cost(const AlgorithmInput& input);

[[nodiscard]] SchedulePtr make_torus(const AlgorithmInput& input);
[[nodiscard]] std::optional<CollectiveCost> torus_cost(const AlgorithmInput& input);
/// Where copies share a port and a short message's rounds do not overlap.
[[nodiscard]] std::optional<CollectiveCost> torus_estimate(const AlgorithmInput& input);
[[nodiscard]] std::optional<std::string> torus_refusal(const AlgorithmInput& input);

[[nodiscard]] SchedulePtr make_nvls(const AlgorithmInput& input);
/// Of one node.
[[nodiscard]] std::optional<CollectiveCost> nvls_estimate(const AlgorithmInput& input);
[[nodiscard]] std::optional<std::string> nvls_refusal(const AlgorithmInput& input);

[[nodiscard]] SchedulePtr make_sharp(const AlgorithmInput& input);
/// Of one rank a node.
[[nodiscard]] std::optional<CollectiveCost> sharp_estimate(const AlgorithmInput& input);
[[nodiscard]] std::optional<std::string> sharp_refusal(const AlgorithmInput& input);

}  // namespace lockstep
