#include "strategies/step/simulated_cluster.hpp"

#include "strategies/nccl/tuning_file.hpp"
#include "topologies/in_network/lower_with_switches.hpp"

namespace lockstep {

SimulatedCluster::SimulatedCluster(const Cluster& cluster, const Device& device,
                                   const SimulationOptions& options)
    : cluster_{cluster},
      device_{device},
      model_{options.network},
      switches_{ReducingSwitches::in_nodes(cluster, device)},
      tuning_{load_nccl_tuning(options.nccl_tuning, options.costs)} {}

/// GPUs add up what they receive while it comes in, as NCCL's kernels do; what that costs beyond
/// the links is in the measured costs. Servers add up what they have received.
const Network& SimulatedCluster::network(bool has_hosts) const {
  Lowered& lowered = has_hosts ? with_hosts_ : without_hosts_;
  std::call_once(lowered.once, [&] {
    Endpoint endpoint = device_.endpoint();
    if (!has_hosts) endpoint.reduce_rate.reset();
    lowered.network = lower_with_switches(
        cluster_, switches_.forests(), endpoint,
        model_ == NetworkModel::queue ? RoutePolicy::ecmp : RoutePolicy::automatic);
  });
  return *lowered.network;
}

}  // namespace lockstep
