#include "tools/app/step/prepared_step.hpp"

#include <fmt/format.h>

#include <cmath>

#include "strategies/measure/machine/machine_cost.hpp"
#include "strategies/measure/machine/machine_links.hpp"
#include "strategies/stacks/cost_of.hpp"
#include "strategies/step/build_program.hpp"
#include "tools/app/errors.hpp"
#include "tools/app/inputs/calibration_of.hpp"
#include "tools/app/inputs/cluster_request.hpp"
#include "tools/app/step/memory_changes.hpp"
#include "tools/app/step/metrics/step_confidence.hpp"
#include "tools/app/step/rank_speeds.hpp"

namespace lockstep::app {

namespace {

/// Whose memory moves what hosts compute with; clusters do not say what their hosts are.
constexpr const char* kHostDevice = "epyc-7742-2s";

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

/// The fabric of a named cluster, or the NICs of one that is given by parameters.
/// The scenario's `cluster`; null if it is no object.
const JsonObject* cluster_members(const Scenario& scenario) {
  const auto* root = scenario.resolved.get_if<JsonObject>();
  const JsonValue* cluster = root != nullptr ? find_member(*root, "cluster") : nullptr;
  return cluster != nullptr ? cluster->get_if<JsonObject>() : nullptr;
}

std::string nic_override(const TrainingStepRequest& request,
                         const std::vector<std::string>& overrides, Rate nic) {
  const Scenario plain = requested_scenario(request, overrides);
  const JsonObject* members = cluster_members(plain);
  const bool named = members != nullptr && find_member(*members, "file") != nullptr;
  if (named)
    return fmt::format("cluster.fabric.link.bandwidth=\"{:.0f} B/s\"", nic.bytes_per_second());
  return fmt::format("cluster.nic_gbps={}", nic.bytes_per_second() / 125e6);
}

Scenario scenario_of(const TrainingStepRequest& request) {
  std::vector<std::string> overrides = request.overrides;
  if (request.nic) overrides.push_back(nic_override(request, overrides, *request.nic));
  Scenario out = requested_scenario(request, overrides);
  (void)rank_speeds(request.speeds, request.simulation.speeds, out.parallel.ranks());
  if (out.seed != kDefaultSeed)
    out.notes.push_back({"seed", "nothing of a simulated step is drawn at random"});
  const JsonObject* cluster = cluster_members(out);
  for (const std::string_view key : kCostKeys)
    if (cluster != nullptr && find_member(*cluster, key) != nullptr)
      out.notes.push_back({fmt::format("cluster.{}", key), "plan alone counts money and energy"});
  return out;
}

}  // namespace

Scenario requested_scenario(const TrainingStepRequest& request,
                            const std::vector<std::string>& overrides) {
  if (request.document)
    return read_scenario(*request.document, request.file, overrides, config_folder());
  return load_scenario(request.file, overrides, config_folder());
}

SimulationOptions simulation_options(const TrainingStepRequest& request, const Scenario& scenario) {
  const Cluster& cluster = scenario.cluster.cluster;
  SimulationOptions options = request.simulation;
  options.speeds =
      rank_speeds(request.speeds, request.simulation.speeds, scenario.parallel.ranks());
  if (!machine_of(request.calibration))
    options.costs = calibration_of(request.calibration).collectives;
  options.nccl_tuning = nccl_tuning_of(scenario.stack, config_folder());
  options.host_link = host_link(cluster);
  const Device host = load_device(config_folder() + "/devices/" + kHostDevice + ".json");
  if (host.memory) options.host_memory = host.memory->bandwidth;
  options.link_series = !request.trace.empty();
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
  PreparedTrainingStep out{scenario_of(request)};
  Scenario& scenario = out.scenario;
  const auto machine = machine_of(request.calibration);
  if (machine) out.machine_links = apply_machine(*machine, scenario.cluster);
  if (request.links.any())
    out.link_changes = apply_link_changes(request.links, RoutePolicy::automatic, scenario.seed,
                                          scenario.cluster.cluster);
  const Device& device = scenario.cluster.device;
  const Calibration fitted = machine ? Calibration{} : calibration_of(request.calibration);
  out.cost = machine && !scenario.sustained
                 ? cost_of(*machine, device, scenario.stack)
                 : cost_model(device, scenario.stack, scenario.sustained, config_folder(), &fitted,
                              scenario.parallel.ranks());
  out.program = std::make_shared<const Program>(
      build_program(scenario.model, scenario.parallel, scenario.cluster.cluster.gpus_per_node()));
  out.roles = unroll(*out.program);
  out.peak = peak_in_order(out.roles);
  if (device.memory) out.capacity = device.memory->size;
  out.margin = peak_memory_margin();
  return out;
}

void check_memory(const TrainingStepRequest& request, const PreparedTrainingStep& prepared) {
  if (prepared.fits() || request.ignore_memory || prepared.scenario.ignore_memory) return;
  RankMemory memory = worst_memory_in_order(prepared.roles, prepared.capacity);
  memory.margin = prepared.margin;
  check_memory(request, prepared.scenario, memory);
}

void check_memory(const TrainingStepRequest& request, const Scenario& scenario,
                  const RankMemory& memory) {
  if (memory.fits() || request.ignore_memory || scenario.ignore_memory) return;
  throw DoesNotFit(memory_shortfall(request, scenario, memory));
}

SimulatedTrainingStep simulate_step(const TrainingStepRequest& request,
                                    const PreparedTrainingStep& prepared,
                                    const ParallelConfig& parallel,
                                    const std::shared_ptr<const Program>& program,
                                    const RolePrograms& roles) {
  const Scenario& scenario = prepared.scenario;
  try {
    return simulate(program, roles, parallel, scenario.cluster.cluster, scenario.cluster.device,
                    *prepared.cost, simulation_options(request, scenario));
  } catch (const ProgramStuck& stuck) {
    throw Refusal(stuck.what());
  } catch (const TrainingStepTooLarge& large) {
    throw Refusal(large.what());
  }
}

SimulatedTrainingStep simulate_step(const TrainingStepRequest& request,
                                    const PreparedTrainingStep& prepared) {
  return simulate_step(request, prepared, prepared.scenario.parallel, prepared.program,
                       prepared.roles);
}

}  // namespace lockstep::app
