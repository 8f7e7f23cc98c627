#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "strategies/measure/validation/measured.hpp"
#include "strategies/nccl/cost_terms.hpp"

namespace lockstep::app {

/// A point of a collective's table, as it is simulated.
struct TablePoint {
  CollectivePoint measured{};
  Bytes size{};
  Duration time{};    // whole
  Duration beside{};  // of it what is not on the links
  /// What `beside` comes of; none where an algorithm was pinned that is not NCCL's.
  std::optional<std::pair<NcclCostKey, NcclCostTerms>> cost{};
};

/// What a point took; of a stated limit, what its size would take at that.
[[nodiscard]] double measured_seconds(const CollectiveTable& table, const TablePoint& point);
/// Bus bandwidth over size per time: 2(n-1)/n for all-reduce, (n-1)/n for the others that
/// nccl-tests' doc/PERFORMANCE.md gives.
[[nodiscard]] double bus_factor(const CollectiveTable& table);

/// Plays a table's points; `costs` override the shipped ones.
/// Throws ConfigError, RequestError and Refusal where that cannot be done.
[[nodiscard]] std::vector<TablePoint> table_points(const CollectiveTable& table,
                                                   const std::vector<NcclCost>& costs);

}  // namespace lockstep::app
