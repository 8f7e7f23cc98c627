#pragma once

#include <optional>

#include "sim/base/units.hpp"
#include "sim/program/kernel.hpp"

namespace lockstep {

/// How long kernels take on one device. Implementations: roofline.hpp, and rates that a measured
/// machine was calibrated with.
class CostModel {
 public:
  virtual ~CostModel() = default;
  /// Alone on the device, from its launch to its end; zero for communication and slices.
  [[nodiscard]] virtual Duration time(const Kernel& kernel) const = 0;
  /// What the host spends to issue it, communication included. A host issues in order and runs
  /// ahead of its device, so small kernels come no faster than this, one after the other.
  [[nodiscard]] virtual Duration host_time(const Kernel& /*kernel*/) const { return {}; }
  /// Whether the host issues nothing more until a send or receive that nothing hides is done.
  [[nodiscard]] virtual bool host_waits_for_messages() const { return false; }
  /// Bytes per second that the device's links to its peers carry in one direction; none: unknown.
  [[nodiscard]] virtual std::optional<Rate> peer_rate() const { return std::nullopt; }
  /// By how much computation takes longer while the device communicates; at least 1.
  [[nodiscard]] virtual double slowdown_while_communicating() const = 0;
};

}  // namespace lockstep
