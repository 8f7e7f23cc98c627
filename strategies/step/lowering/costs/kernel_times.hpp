#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "sim/cost/cost_model.hpp"
#include "sim/program/program.hpp"
#include "sim/program/unroll.hpp"
#include "strategies/step/lowering/costs/unequal_times.hpp"
#include "topologies/graph/cluster.hpp"

namespace lockstep {

/// Kernel times per role and operation.
class KernelTimes {
 public:
  /// Bandwidth of hosts. Computation on a host uses its memory bandwidth: all of it for hosts with
  /// a role, a share per rank otherwise; `link` limits copies between host and GPU. None: takes no
  /// time.
  struct Host {
    std::optional<Rate> memory{};
    std::optional<Rate> share{};
    std::optional<Rate> link{};
  };
  /// Of a step of so many ranks: those of a node share its host's memory.
  [[nodiscard]] static Host host_of(const Cluster& cluster, int ranks, std::optional<Rate> memory,
                                    std::optional<Rate> link);
  KernelTimes(const Program& program, const CostModel& cost, Host host);
  /// On a rank with this load, at full speed.
  [[nodiscard]] Duration of(const RoleProgram& role, const RoleOperation& operation,
                            std::uint32_t load = 0) const;
  /// Whether ranks or microbatches differ in it.
  [[nodiscard]] bool differs(const RoleOperation& operation) const {
    return attention_.has(operation.call.routine, operation.index_in_routine);
  }
  /// Speeds with the load of every rank.
  [[nodiscard]] RankSpeeds with_loads(RankSpeeds speeds) const {
    return attention_.with_loads(std::move(speeds));
  }
  /// Whether the host is blocked until the operation completes.
  [[nodiscard]] bool host_waits(const Operation& operation) const;
  /// Whether the host is blocked until the end of each pass of a microbatch.
  [[nodiscard]] bool host_waits_for_passes() const { return host_waits_for_passes_; }
  /// Host time to launch the operation.
  [[nodiscard]] Duration launch_time(const RoleOperation& operation) const {
    return launch_times_[operation.call.routine][operation.index_in_routine];
  }

 private:
  const Program& program_;
  Host host_;
  bool host_waits_ = false;  // for messages that are not overlapped
  bool host_waits_for_passes_ = false;
  std::vector<std::vector<Duration>> times_;  // per routine and operation
  std::vector<std::vector<Duration>> launch_times_;
  UnequalTimes attention_;
};

}  // namespace lockstep
