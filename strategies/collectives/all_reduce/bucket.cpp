#include "strategies/collectives/all_reduce/bucket.hpp"

#include <fmt/format.h>

#include <functional>
#include <numeric>

#include "strategies/collectives/schedules/compose.hpp"

namespace lockstep {
namespace {

/// One dimension's turn.
struct Turn {
  int size = 1;
  int stride = 1;        // in ranks
  std::int64_t run = 1;  // blocks that each of its ranks has after its reduce-scatter
};

std::vector<Turn> turns_of(const Bucket& bucket) {
  std::vector<int> order = bucket.order;
  if (order.empty()) {
    order.resize(bucket.sizes.size());
    std::iota(order.begin(), order.end(), 0);
  }
  std::int64_t run = std::accumulate(bucket.sizes.begin(), bucket.sizes.end(), std::int64_t{1},
                                     std::multiplies<>{});
  std::vector<Turn> turns;
  for (const int dimension : order) {
    const auto at = bucket.sizes.begin() + dimension;
    run /= *at;
    turns.push_back({*at, std::accumulate(bucket.sizes.begin(), at, 1, std::multiplies<>{}), run});
  }
  return turns;
}

/// The first of the blocks that the rank is left with after the first `done` turns.
std::int64_t offset_of(const std::vector<Turn>& turns, std::size_t done, int rank) {
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < done; ++i)
    offset += rank / turns[i].stride % turns[i].size * turns[i].run;
  return offset;
}

}  // namespace

SchedulePtr make_bucket(const Bucket& bucket) {
  const std::vector<Turn> turns = turns_of(bucket);
  const int n = std::accumulate(bucket.sizes.begin(), bucket.sizes.end(), 1, std::multiplies<>{});
  const auto stage = [&](std::size_t i, SchedulePtr part) {
    return Stage{.part = std::move(part),
                 .stride = turns[i].stride,
                 .members = n,
                 .scale = turns[i].run,
                 .offset = [turns, i](int rank) { return offset_of(turns, i, rank); }};
  };
  std::vector<Stage> stages;
  for (std::size_t i = 0; i < turns.size(); ++i)
    stages.push_back(stage(i, ring_reduce_scatter(turns[i].size, bucket.way)));
  for (std::size_t i = turns.size(); i-- > 0;)
    stages.push_back(stage(i, ring_all_gather(turns[i].size, bucket.way)));
  return in_sequence(n, n, std::move(stages));
}

CollectiveCost bucket_cost(const std::vector<int>& sizes) {
  CollectiveCost cost;
  std::int64_t n = 1;
  for (const int size : sizes) {
    cost.rounds += 2 * (std::int64_t{size} - 1);
    n *= size;
  }
  cost.path_blocks = cost.sent_blocks = 2 * (n - 1);
  cost.reduced_blocks = n - 1;
  return cost;
}

std::vector<int> grid_of(const AlgorithmInput& input) {
  if (auto given = input.dimensions("dims")) return *std::move(given);
  const auto& torus = input.layout.dimensions;
  if (!torus.empty() &&
      std::accumulate(torus.begin(), torus.end(), 1, std::multiplies<>{}) == input.n)
    return torus;
  const int per_node = input.layout.per_node;
  if (input.n % per_node == 0) return {per_node, input.n / per_node};
  return {input.n};
}

std::optional<std::string> grid_refusal(const AlgorithmInput& input) {
  const auto unequal = input.layout.unequal_nodes();
  if (!unequal || input.dimensions("dims")) return std::nullopt;
  return fmt::format("{}; no grid follows of them: say which, as in dims={}x1", *unequal, input.n);
}

}  // namespace lockstep
