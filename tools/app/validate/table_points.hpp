#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "strategies/measure/validation/measured.hpp"
#include "strategies/nccl/cost_terms.hpp"

namespace lockstep::app {

/// A simulated point of a collective's table.
struct TablePoint {
  CollectivePoint measured{};
  Bytes size{};
  Duration time{};    // total
  Duration beside{};  // the part of it beyond the links
  /// Source of `beside`; none for a pinned algorithm that is not NCCL's.
  std::optional<std::pair<NcclCostKey, NcclCostTerms>> cost{};
};

/// Measured time of a point; for a stated bandwidth limit, the time of its size at that bandwidth.
[[nodiscard]] double measured_seconds(const CollectiveTable& table, const TablePoint& point);
/// Ratio of busbw to size per time: 2(n-1)/n for all-reduce, (n-1)/n for the others (nccl-tests,
/// doc/PERFORMANCE.md).
[[nodiscard]] double bus_factor(const CollectiveTable& table);

/// Simulates a table's points; `costs` override the shipped ones. Throws ConfigError, RequestError
/// or Refusal for points that cannot be simulated.
[[nodiscard]] std::vector<TablePoint> table_points(const CollectiveTable& table,
                                                   const std::vector<NcclCost>& costs);

}  // namespace lockstep::app
