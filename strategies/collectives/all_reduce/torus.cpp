#include <algorithm>
#include <numeric>

#include "strategies/collectives/all_reduce/bucket.hpp"
#include "strategies/collectives/all_reduce/row_parts.hpp"
#include "strategies/collectives/row_helpers.hpp"
#include "strategies/collectives/schedules/compose.hpp"

/// Torus all-reduce (bucket): ring reduce-scatters along one dimension after the other, then ring
/// all-gathers back; several copies side by side, each on its own slice of the data. Copy k begins
/// with dimension k mod D and goes the other way round from copy D on, so that 2D copies on a torus
/// of equal dimensions use all links alike all the time.
/// In: n >= 1 ranks, S bytes on each; dims, whose product is n, D of them longer than one rank.
///   Chunks: copies*n blocks.
/// Reference: Jain and Sabharwal 2010 (optimal bucket algorithms on tori); Mikami et al. 2018
///   (2D-torus all-reduce).
namespace lockstep {
namespace {

/// The dimensions that are longer than one rank.
std::vector<int> passed(const std::vector<int>& sizes) {
  std::vector<int> order;
  for (int i = 0; i < static_cast<int>(sizes.size()); ++i) {
    if (sizes[static_cast<std::size_t>(i)] > 1) order.push_back(i);
  }
  return order;
}

std::int64_t most_copies(const std::vector<int>& sizes) {
  return std::max<std::int64_t>(1, 2 * std::ssize(passed(sizes)));
}

std::int64_t copies_of(const AlgorithmInput& input) {
  return input.number("copies").value_or(most_copies(grid_of(input)));
}

SchedulePtr make_torus(const AlgorithmInput& input) {
  const std::vector<int> sizes = grid_of(input);
  const std::vector<int> order = passed(sizes);
  std::vector<Stripe> stripes;
  for (std::int64_t copy = 0; copy < copies_of(input); ++copy) {
    Bucket bucket{.sizes = sizes, .order = order};
    if (!order.empty()) {
      std::rotate(bucket.order.begin(), bucket.order.begin() + copy % std::ssize(order),
                  bucket.order.end());
      if (copy >= std::ssize(order)) bucket.way = RingWay::down;
    }
    stripes.push_back({make_bucket(bucket)});
  }
  return side_by_side(std::move(stripes));
}

std::optional<CollectiveCost> torus_cost(const AlgorithmInput& input) {
  if (copies_of(input) > 1) return std::nullopt;  // a short message's rounds overlap
  return bucket_cost(grid_of(input));
}

std::optional<CollectiveCost> torus_estimate(const AlgorithmInput& input) {
  const std::int64_t copies = copies_of(input);
  CollectiveCost out = bucket_cost(grid_of(input));
  out.path_blocks *= copies;
  out.reduced_blocks *= copies;
  out.sent_blocks *= copies;
  return out;
}

std::optional<std::string> torus_refusal(const AlgorithmInput& input) {
  if (auto refusal = grid_refusal(input)) return refusal;
  const std::int64_t most = most_copies(grid_of(input));
  const std::int64_t copies = copies_of(input);
  if (copies <= most) return std::nullopt;
  return "copies is 1 to " + std::to_string(most) + " (both ways along every dimension), got " +
         std::to_string(copies);
}

}  // namespace

CollectiveAlgorithm all_reduce_torus_row() {
  return {
      .collective = Collective::all_reduce,
      .name = "torus",
      .summary = "copies of blueconnect with different first dimensions and directions",
      .parameters = {{.name = "copies",
                      .meaning =
                          "both directions along every dimension if not given; one per dimension: "
                          "one way"},
                     rows::dims_parameter()},
      .limits = "n is the product of dims; copies <= 2 per dimension",
      .rounds = "2 sum(p-1) over dimensions p",
      .sent_per_rank = "2(n-1)/n*S",
      .time =
          "2*sum(p-1)*alpha + 2(n-1)/n*S*beta + (n-1)/n*S*gamma for one copy; copies that "
          "share no link divide beta by their number",
      .example = "torus:copies=4,dims=4x4",
      .source = "Jain and Sabharwal 2010; Mikami et al. 2018 (arXiv 1811.05233)",
      .file = "torus.cpp",
      .make = make_torus,
      .cost = torus_cost,
      .estimate = torus_estimate,
      .refusal = torus_refusal};
}

}  // namespace lockstep
