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
#include "strategies/step/lowering/kernel_times.hpp"
#include "topologies/devices/device.hpp"
#include "topologies/graph/cluster.hpp"

namespace lockstep {

/// Bandwidth of the memory of hosts and of copies between host and GPU; none: takes no time.
struct HostRates {
  std::optional<Rate> memory{};
  std::optional<Rate> link{};
};

/// Lower bounds on the times of single operations of training steps on one cluster: kernels take
/// what the cost model says, communications what no traffic next to them could make shorter
/// (schedule_bound.hpp). Keeps what it has found; for one thread. The cluster must outlive it.
class OperationBounds {
 public:
  /// `algorithms`: as ParallelConfig::algorithms.
  OperationBounds(const Cluster& cluster, const Device& device, NcclTuning tuning,
                  std::map<std::string, std::string> algorithms, HostRates host = {});

  /// Of each operation of a routine of a device, with chunked GEMMs as the simulation has them.
  /// What hosts do, copies to and from them, and communication take no time here.
  [[nodiscard]] static std::vector<Duration> kernels(const Program& program, const Routine& routine,
                                                     const CostModel& cost);
  /// Of a copy to or from the host, or of what a rank has its host do; zero for all else.
  [[nodiscard]] Duration on_host(const Program& program, const Operation& operation) const;
  /// What limits these in a step of so many ranks.
  [[nodiscard]] KernelTimes::Host host_of(int ranks) const {
    return KernelTimes::host_of(cluster_, ranks, host_.memory, host_.link);
  }
  /// Of a collective of one rank; zero with fewer than two members, or with a host.
  [[nodiscard]] Duration collective(const Program& program, int rank, const Operation& operation);
  /// Of such a message among such ranks; zero with fewer than two of them.
  [[nodiscard]] Duration collective(const Communication& how, Bytes message,
                                    const std::vector<int>& members);
  /// What a collective moves: the larger of what it reads and writes.
  [[nodiscard]] static Bytes message_of(const Program& program, const Operation& operation);
  /// Of the message that a rank sends.
  [[nodiscard]] MessageBound message(const Program& program, int rank, const Operation& send);

  [[nodiscard]] MessageBound message(int from, int to, Bytes size);
  /// Bytes per second that leave one of these ranks at most for the others, on the routes to them;
  /// the most of all. 0 where no limit is known.
  [[nodiscard]] double most_leaving(const std::vector<int>& members) const;

  /// Where ranks sit, from the node of the first on where nodes are equal.
  [[nodiscard]] fold::Key key_of(const std::vector<int>& ranks) const;
  [[nodiscard]] const Cluster& cluster() const { return cluster_; }

 private:
  [[nodiscard]] Duration collective(const Communication& how, Bytes message,
                                    const std::vector<int>& members, int root);

  const Cluster& cluster_;
  ReducingSwitches switches_;
  Network network_;
  CollectiveChoice choice_;
  HostRates host_;
  std::map<fold::Key, Duration> collectives_;
  std::map<fold::Key, MessageBound> messages_;
};

}  // namespace lockstep
