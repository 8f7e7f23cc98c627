#pragma once

#include <vector>

#include "sim/program/operation.hpp"
#include "strategies/sharding/placement.hpp"
#include "strategies/sharding/propagate_sharding.hpp"

namespace lockstep {

/// Placements of operands under which every rank computes its part of an operation locally, and the
/// resulting placement of the result.
struct OperandPlacements {
  std::vector<Placement> reads{};
  std::vector<Placement> writes{};
};

/// A tensor with its current placement (reads) or wanted placement (writes).
struct PlacedOperand {
  const Tensor* tensor = nullptr;
  Placement placement{};
  bool settled = true;  // false: the result keeps the placement that the operation produces
};

[[nodiscard]] OperandPlacements operand_placements(const Operation& operation,
                                                   const std::vector<PlacedOperand>& reads,
                                                   const std::vector<PlacedOperand>& writes,
                                                   const ShardingRules& rules);

/// The placement that the rules prescribe; none: the one its producer gives it.
[[nodiscard]] std::optional<Placement> declared_placement(const Tensor& tensor,
                                                          const ShardingRules& rules);

}  // namespace lockstep
