#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/cost/cost_model.hpp"
#include "sim/network/network.hpp"
#include "sim/program/program.hpp"
#include "strategies/collectives/placement/reducing_switches.hpp"
#include "strategies/nccl/tuning_data.hpp"
#include "strategies/step/bound/schedule_bound.hpp"
#include "strategies/step/lowering/collective_choice.hpp"
#include "strategies/step/lowering/costs/kernel_times.hpp"
#include "topologies/devices/device.hpp"
#include "topologies/graph/cluster.hpp"

namespace lockstep {

/// Bandwidths of host memory and of host-GPU copies; none: infinite.
struct HostRates {
  std::optional<Rate> memory{};
  std::optional<Rate> link{};
};

/// Lower bounds on the times of single operations of training steps on one cluster: kernels at the
/// time of the cost model, communication without competing traffic (schedule_bound.hpp). Caches
/// results; not thread-safe. The cluster must outlive this object.
class OperationBounds {
 public:
  /// `algorithms`: as ParallelConfig::algorithms.
  OperationBounds(const Cluster& cluster, const Device& device, NcclTuning tuning,
                  std::map<std::string, std::string> algorithms, HostRates host = {});
  /// Communication counts zero from here on: for clusters whose links are not those of `cluster`.
  void leave_out_communication() { counts_communication_ = false; }

  /// Times of the operations of a device routine, with GEMMs chunked as in simulation. Zero for
  /// host work, host copies and communication.
  [[nodiscard]] static std::vector<Duration> kernels(const Program& program, const Routine& routine,
                                                     const CostModel& cost);
  /// Whether the launch of an operation is within the step in any case. A host that waits at the
  /// end of a pass for its computation may have launched what follows there meanwhile.
  [[nodiscard]] static bool host_counts(const Operation& operation, const CostModel& cost) {
    return operation.stream == kComputeStream || !cost.host_waits_for_passes();
  }
  /// Time of a host copy or of host work; zero for other operations.
  [[nodiscard]] Duration on_host(const Program& program, const Operation& operation) const;
  /// Bandwidths for these in a step of that many ranks.
  [[nodiscard]] KernelTimes::Host host_of(int ranks) const {
    return KernelTimes::host_of(cluster_, ranks, host_.memory, host_.link);
  }
  /// Time of one rank's collective; zero with fewer than two members, or with a host.
  [[nodiscard]] Duration collective(const Program& program, int rank, const Operation& operation);
  /// Time of a collective on these ranks; zero with fewer than two.
  [[nodiscard]] Duration collective(const Communication& how, Bytes message,
                                    const std::vector<int>& members,
                                    const std::optional<TokenSkew>& skew);
  /// Message size of a collective: the larger of bytes read and written.
  [[nodiscard]] static Bytes message_of(const Program& program, const Operation& operation);
  /// Time of a rank's message.
  [[nodiscard]] MessageBound message(const Program& program, int rank, const Operation& send);

  [[nodiscard]] MessageBound message(int from, int to, Bytes size);
  /// Upper bound on the bandwidth from one of these ranks to the others, bytes/s; the maximum over
  /// ranks; 0: unknown.
  [[nodiscard]] double most_leaving(const std::vector<int>& members) const;

  /// Placement of ranks, without the node where all are on one and nodes are equal.
  [[nodiscard]] fold::Key key_of(const std::vector<int>& ranks) const;
  [[nodiscard]] const Cluster& cluster() const { return cluster_; }

 private:
  [[nodiscard]] Duration collective(const Communication& how, Bytes message,
                                    const std::vector<int>& members, int root,
                                    const std::optional<TokenSkew>& skew);

  const Cluster& cluster_;
  ReducingSwitches switches_;
  Network network_;
  CollectiveChoice choice_;
  HostRates host_;
  bool counts_communication_ = true;
  std::map<fold::Key, Duration> collectives_;
  std::map<fold::Key, MessageBound> messages_;
};

}  // namespace lockstep
