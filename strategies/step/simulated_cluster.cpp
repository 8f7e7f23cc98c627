#include "strategies/step/simulated_cluster.hpp"

#include "strategies/nccl/tuning_file.hpp"
#include "topologies/in_network/lower_with_switches.hpp"

namespace lockstep {

SimulatedCluster::SimulatedCluster(const Cluster& cluster, const Device& device,
                                   const SimulationOptions& options)
    : cluster_{cluster},
      device_{device},
      model_{options.network},
      in_nodes_{ReducingSwitches::of_step(cluster, device, false)},
      in_fabric_{ReducingSwitches::of_step(cluster, device, true)},
      tuning_{load_nccl_tuning(options.nccl_tuning, options.costs)} {}

/// GPUs add up what they receive while it comes in, as NCCL's kernels do; what that costs beyond
/// the links is in the measured costs. Servers add up what they have received.
const Network& SimulatedCluster::network(bool has_hosts, bool in_fabric) const {
  Lowered& lowered = lowered_[(has_hosts ? 1U : 0U) + (in_fabric ? 2U : 0U)];
  std::call_once(lowered.once, [&] {
    Endpoint endpoint = device_.endpoint();
    if (!has_hosts) endpoint.reduce_rate.reset();
    lowered.network = lower_with_switches(
        cluster_, switches(in_fabric).forests(), endpoint,
        model_ == NetworkModel::queue ? RoutePolicy::ecmp : RoutePolicy::automatic);
  });
  return *lowered.network;
}

}  // namespace lockstep
