#pragma once

#include <optional>

#include "sim/base/units.hpp"
#include "sim/cost/basis.hpp"
#include "sim/program/kernel/kernel.hpp"

namespace lockstep {

/// Kernel times on one device. Implementations: roofline.hpp, and the rates of a measured machine.
class CostModel {
 public:
  virtual ~CostModel() = default;
  /// Time of a kernel without concurrent work, from launch to end; zero for communication and
  /// slices.
  [[nodiscard]] virtual Duration time(const Kernel& kernel) const = 0;
  /// Host time to launch a kernel or communication. Hosts launch in order and run ahead of the
  /// device, so this limits the rate of small kernels.
  [[nodiscard]] virtual Duration host_time(const Kernel& /*kernel*/) const { return {}; }
  /// What the time of a kernel rests on: of computation and memory traffic whichever takes longer.
  [[nodiscard]] virtual Basis basis(const Kernel& /*kernel*/) const { return {}; }
  /// The same of host_time().
  [[nodiscard]] virtual Basis host_basis() const { return {}; }
  /// Whether the host is blocked during sends and receives that are not overlapped.
  [[nodiscard]] virtual bool host_waits_for_messages() const { return false; }
  /// Whether the host is blocked until the end of each forward and backward pass of a microbatch.
  [[nodiscard]] virtual bool host_waits_for_passes() const { return false; }
  /// Total bandwidth of the device's links to its peers, per direction; none: unknown.
  [[nodiscard]] virtual std::optional<Rate> peer_rate() const { return std::nullopt; }
  /// Factor on computation while the device communicates; at least 1.
  [[nodiscard]] virtual double slowdown_while_communicating() const = 0;
};

}  // namespace lockstep
