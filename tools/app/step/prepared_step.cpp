#include "tools/app/step/prepared_step.hpp"

#include <fmt/format.h>

#include <utility>

#include "strategies/measure/machine/machine_cost.hpp"
#include "strategies/measure/machine/machine_links.hpp"
#include "strategies/stacks/cost_of.hpp"
#include "strategies/step/build_program.hpp"
#include "tools/app/errors.hpp"
#include "tools/app/inputs/calibration_of.hpp"
#include "tools/app/inputs/cluster_request.hpp"
#include "tools/app/step/metrics/step_confidence.hpp"
#include "tools/app/step/rank_speeds.hpp"
#include "tools/app/step/requested_scenario.hpp"
#include "topologies/graph/nodes.hpp"

namespace lockstep::app {

namespace {

/// Whose memory moves what hosts compute with; clusters do not say what their hosts are.
constexpr const char* kHostDevice = "epyc-7742-2s";
/// With coherent links from CPUs to GPUs, one CPU of several.
constexpr const char* kCoherentHost = "grace-480gb";

/// What a GPU and its host copy over: a cable of the first GPU to a CPU, else its PCIe slot; none
/// where the cluster has neither.
std::optional<Rate> host_link(const Cluster& cluster) {
  const VertexId gpu = cluster.vertex_of(0);
  std::optional<Rate> slot;
  for (std::size_t i = 0; i < cluster.link_count(); ++i) {
    const ClusterLink link = cluster.link(static_cast<LinkId>(i));
    if (link.from != gpu) continue;
    if (cluster.vertex(link.to).kind == VertexKind::cpu) return link.figures.carried();
    if (link.kind == LinkKind::pcie) slot = link.figures.carried();
  }
  return slot;
}

/// Attention of a GPU as shipped, where it is.
std::unique_ptr<CostModel> cost_of(const MeasuredMachine& machine, const Device& device,
                                   const std::string& stack) {
  if (machine.backend == "host" || device.kernels.empty()) return cost_model(machine.fit);
  return cost_model(machine.fit, device_model(device, stack, config_folder()));
}

/// Overrides the cluster's links and device with those of the machine.
MachineLinkUse apply_machine(const MeasuredMachine& machine, ScenarioCluster& of) {
  ClusterOfMachine linked = with_links_of(machine, of.cluster, of.device);
  of.cluster = std::move(linked.cluster);
  of.device = calibrated(of.device, machine.fit);
  return std::move(linked.links);
}

void refuse_idle_weights(NetworkModel model, const ParallelConfig& parallel) {
  if (model != NetworkModel::queue || parallel.traffic_weights.empty()) return;
  throw RequestError(std::vector<RequestProblem>{
      {"network",
       "queue: messages queue first in, first out, whatever their weight; "
       "parallel.traffic_weights requires fluid or alpha-beta"}});
}

/// Windows are times of one step.
void refuse_windows_of_mean(const RankSpeeds& speeds, const ParallelConfig& parallel) {
  if (!parallel.averages() || parallel.average_every == 1) return;
  for (const auto& [rank, speed] : speeds)
    if (!speed.windows.empty())
      throw RequestError(fmt::format("set_rank {}", rank),
                         "from and until are times of a single step; this scenario averages "
                         "parameters, and its result is the mean of several steps");
}

}  // namespace

SimulationOptions simulation_options(const TrainingStepRequest& request, const Scenario& scenario,
                                     std::vector<NcclCost> costs) {
  const Cluster& cluster = scenario.cluster.cluster;
  SimulationOptions options = request.simulation;
  refuse_idle_weights(options.network, scenario.parallel);
  options.speeds = rank_speeds(request.speeds, request.simulation.speeds, scenario.parallel.ranks(),
                               scenario.seed);
  refuse_windows_of_mean(options.speeds, scenario.parallel);
  options.costs = std::move(costs);
  options.nccl_tuning = nccl_tuning_of(scenario.stack, config_folder());
  options.host_link = host_link(cluster);
  const char* of_hosts = coherent_cpus(cluster) > 0 ? kCoherentHost : kHostDevice;
  const Device host = load_device(fmt::format("{}/devices/{}.json", config_folder(), of_hosts));
  if (host.memory) options.host_memory = host.memory->bandwidth;
  options.link_series =
      !request.trace.empty() || (request.link_series && scenario.parallel.ranks() <= kFewRanks);
  if (request.on_phase)
    options.on_lowering = [report = request.on_phase](double share) {
      report({{}, share, {}, "expanding operations"});
    };
  if (request.on_phase)
    options.on_replay = [report = request.on_phase](const ReplayProgress& progress) {
      const Duration simulated = progress.now.since_start();
      report({{}, progress.share, fmt::format("{:.4g} s simulated", simulated.seconds())});
    };
  return options;
}

PreparedTrainingStep prepare_step(const TrainingStepRequest& request) {
  PreparedTrainingStep out{requested_scenario(request)};
  Scenario& scenario = out.scenario;
  const Calibration calibration = calibration_of(request.calibration);
  const auto& machine = calibration.machine;
  if (machine) out.machine_links = apply_machine(*machine, scenario.cluster);
  if (request.factors != FigureFactors{}) scale(scenario.cluster, request.factors);
  if (request.links.any())
    out.link_changes = apply_link_changes(request.links, RoutePolicy::automatic, scenario.seed,
                                          scenario.cluster.cluster);
  const Device& device = scenario.cluster.device;
  out.cost = machine && !scenario.sustained
                 ? cost_of(*machine, device, scenario.stack)
                 : cost_model(device, scenario.stack, scenario.sustained, config_folder(),
                              &calibration, scenario.parallel.ranks());
  out.cost = scaled(std::move(out.cost), request.factors);
  out.options = simulation_options(request, scenario, calibration.collectives);
  out.program = std::make_shared<const Program>(
      build_program(scenario.model, scenario.parallel, scenario.cluster.cluster.gpus_per_node()));
  out.roles = unroll(*out.program);
  out.peak = peak_in_order(out.roles);
  if (device.memory) out.capacity = device.memory->size;
  out.margin = peak_memory_margin();
  return out;
}

}  // namespace lockstep::app
