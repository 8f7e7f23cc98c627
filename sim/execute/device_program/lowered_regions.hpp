#pragma once

#include <vector>

#include "sim/execute/command_graph/command_graph.hpp"
#include "sim/execute/kernels/lower_operation.hpp"

namespace lockstep {

/// Locations of a lowered operation's operands.
struct LoweredRegions {
  std::vector<Region> reads{};
  std::vector<Region> writes{};
  std::vector<Region> scratch{};

  [[nodiscard]] const Region& of(const LoweredOperand& operand) const {
    switch (operand.of) {
      case LoweredOperand::Of::reads:
        return reads.at(operand.index);
      case LoweredOperand::Of::writes:
        return writes.at(operand.index);
      case LoweredOperand::Of::scratch:
        break;
    }
    return scratch.at(operand.index);
  }
  [[nodiscard]] std::vector<Region> of(const std::vector<LoweredOperand>& operands) const {
    std::vector<Region> out;
    for (const LoweredOperand& each : operands) out.push_back(of(each));
    return out;
  }
  /// Element type of a scratch buffer in this command graph.
  [[nodiscard]] NumberType type_of(const LoweredScratch& of, const CommandGraph& graph) const {
    return of.as_read ? graph.buffers[reads.at(*of.as_read).buffer].type : of.type;
  }
};

}  // namespace lockstep
