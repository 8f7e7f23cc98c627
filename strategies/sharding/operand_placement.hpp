#pragma once

#include <vector>

#include "sim/program/operation.hpp"
#include "strategies/sharding/placement.hpp"
#include "strategies/sharding/propagate_sharding.hpp"

namespace lockstep {

/// How an operation's operands have to lie for every rank to do its part alone, and how what it
/// writes then lies.
struct OperandPlacements {
  std::vector<Placement> reads{};
  std::vector<Placement> writes{};
};

/// A tensor as an operation meets it: how it lies (reads) or should lie (writes).
struct Operand {
  const Tensor* tensor = nullptr;
  Placement placement{};
  bool settled = true;  // false: a result that lies as the operation leaves it
};

[[nodiscard]] OperandPlacements operand_placements(const Operation& operation,
                                                   const std::vector<Operand>& reads,
                                                   const std::vector<Operand>& writes,
                                                   const ShardingRules& rules);

/// How a tensor should lie by the rules; none: as the operation that writes it leaves it.
[[nodiscard]] std::optional<Placement> declared_placement(const Tensor& tensor,
                                                          const ShardingRules& rules);

}  // namespace lockstep
