#pragma once

#include "strategies/collectives/algorithm.hpp"

/// Every all-reduce algorithm: a function that makes its schedule, and its closed form. Each is
/// described in the file of its name. All are pure and take n >= 1 ranks that hold data; one rank
/// alone has nothing to do.
namespace lockstep {

[[nodiscard]] SchedulePtr make_naive(int n);
[[nodiscard]] CollectiveCost naive_cost(int n);

/// 1 <= shards <= n.
[[nodiscard]] SchedulePtr make_parameter_server(int n, int shards);
[[nodiscard]] CollectiveCost parameter_server_cost(int n, int shards);

[[nodiscard]] SchedulePtr make_one_shot(int n);
[[nodiscard]] CollectiveCost one_shot_cost(int n);

[[nodiscard]] SchedulePtr make_direct(int n);
[[nodiscard]] CollectiveCost direct_cost(int n);

[[nodiscard]] SchedulePtr make_ring(int n);
[[nodiscard]] CollectiveCost ring_cost(int n);

[[nodiscard]] SchedulePtr make_recursive_doubling(int n);
[[nodiscard]] CollectiveCost recursive_doubling_cost(int n);

/// Which peer the largest blocks go to.
enum class PeerOrder { far_first, near_first };
[[nodiscard]] SchedulePtr make_halving_doubling(int n, PeerOrder order);
[[nodiscard]] CollectiveCost halving_doubling_cost(int n);

}  // namespace lockstep
