#include "tools/app/step/run_step.hpp"

#include <fmt/format.h>

#include "sim/trace/summary_mean.hpp"
#include "strategies/measure/machine/machine_cost.hpp"
#include "strategies/measure/machine/machine_links.hpp"
#include "strategies/stacks/cost_of.hpp"
#include "strategies/step/build_program.hpp"
#include "tools/app/errors.hpp"
#include "tools/app/inputs/calibration_of.hpp"
#include "tools/app/inputs/cluster_request.hpp"
#include "tools/app/step/memory_changes.hpp"
#include "tools/app/step/rank_speeds.hpp"
#include "tools/app/step/step_confidence.hpp"
#include "tools/app/step/trace_file.hpp"

namespace lockstep::app {

namespace {

constexpr std::size_t kLinksShown = 8;
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

/// The cluster with the machine's figures instead of its own; which links it has then, in
/// words.
std::string take_figures(const MeasuredMachine& machine, ScenarioCluster& of) {
  ClusterOfMachine linked = with_links_of(machine, of.cluster, of.device);
  of.cluster = std::move(linked.cluster);
  of.device = calibrated(of.device, machine.fit);
  return std::move(linked.links);
}

SimulationOptions options_for(const StepRequest& request, const Scenario& scenario) {
  const Cluster& cluster = scenario.cluster.cluster;
  SimulationOptions options = request.simulation;
  if (!machine_of(request.calibration))
    options.costs = calibration_of(request.calibration).collectives;
  options.nccl_tuning = nccl_tuning_of(scenario.stack, config_folder());
  options.host_link = host_link(cluster);
  const Device host = load_device(config_folder() + "/devices/" + kHostDevice + ".json");
  if (host.memory) options.host_memory = host.memory->bandwidth;
  options.link_series = !request.trace.empty();
  return options;
}

SimulatedStep simulated(const StepRequest& request, const Scenario& scenario,
                        const std::shared_ptr<const Program>& program, const CostModel& cost) {
  const Cluster& cluster = scenario.cluster.cluster;
  try {
    return simulate(program, scenario.parallel, cluster, scenario.cluster.device, cost,
                    options_for(request, scenario));
  } catch (const ProgramStuck& stuck) {
    throw Refusal(stuck.what());
  } catch (const StepTooLarge& large) {
    throw Refusal(large.what());
  }
}

/// What is reported of a step.
struct Reported {
  StepSummary summary;
  std::vector<Bytes> link_bytes{};
  std::optional<AveragingSteps> averaging{};
};

std::vector<Bytes> mean_bytes(const std::vector<Bytes>& plain, const std::vector<Bytes>& last,
                              std::int64_t every) {
  std::vector<Bytes> out;
  for (std::size_t i = 0; i < last.size(); ++i)
    out.push_back(Bytes{(plain[i].count() * (every - 1) + last[i].count() + every / 2) / every});
  return out;
}

/// The step; of parameter averaging the mean of `average_every`, of which only the last averages.
Reported reported(const StepRequest& request, const Scenario& scenario, const CostModel& cost,
                  const SimulatedStep& step) {
  Reported out{summarise(step.timeline), step.timeline.link_bytes, {}};
  const std::int64_t every = scenario.parallel.average_every;
  const bool averages = scenario.parallel.exchange == GradientExchange::parameter_averaging;
  if (!averages || every == 1) return out;
  Scenario plain = scenario;
  plain.parallel.averages = false;
  const auto program = std::make_shared<const Program>(
      build_program(plain.model, plain.parallel, plain.cluster.cluster.gpus_per_node()));
  const SimulatedStep without = simulated(request, plain, program, cost);
  const StepSummary summary = summarise(without.timeline);
  out.averaging = AveragingSteps{every, out.summary.step, summary.step};
  out.summary = mean_summary(summary, out.summary, every);
  out.link_bytes = mean_bytes(without.timeline.link_bytes, out.link_bytes, every);
  return out;
}

}  // namespace

StepResult run_step(const StepRequest& request) {
  ProgressCounter progress(request.on_progress, 5);
  Scenario scenario = load_scenario(request.file, request.overrides, config_folder());
  check_rank_speeds(request.simulation.speeds, scenario.parallel.ranks());
  if (scenario.seed != kDefaultSeed)
    scenario.notes.push_back({"seed", "nothing of a simulated step is drawn at random"});
  progress.step();
  const auto machine = machine_of(request.calibration);
  std::string machine_links = machine ? take_figures(*machine, scenario.cluster) : std::string{};
  const Device& device = scenario.cluster.device;
  const Cluster& cluster = scenario.cluster.cluster;
  const Calibration fitted = machine ? Calibration{} : calibration_of(request.calibration);
  const auto cost = machine && !scenario.sustained
                        ? cost_of(*machine, device, scenario.stack)
                        : cost_model(device, scenario.stack, scenario.sustained, config_folder(),
                                     &fitted, scenario.parallel.ranks());
  const auto program = std::make_shared<const Program>(
      build_program(scenario.model, scenario.parallel, cluster.gpus_per_node()));
  progress.step();
  SimulatedStep step = simulated(request, scenario, program, *cost);
  progress.step();
  const auto capacity = device.memory ? std::optional{device.memory->size} : std::nullopt;
  RankMemory memory = worst_memory(step.timeline, capacity);
  if (!memory.fits() && !request.ignore_memory && !scenario.ignore_memory)
    throw DoesNotFit(memory_shortfall(request, scenario, memory));
  progress.step();
  Reported told = reported(request, scenario, *cost, step);
  const Duration time = told.summary.step;
  Throughput throughput = throughput_of(scenario, *program, time);
  std::vector<LinkUse> links = busiest_links(told.link_bytes, time, cluster, kLinksShown);
  if (!request.trace.empty()) write_trace(request, step);
  progress.step();
  std::string nccl = nccl_tuning_of(scenario.stack, config_folder()).stem().string();
  std::optional<Confidence> confidence = run_confidence(scenario, throughput.step);
  return {std::move(scenario),   std::move(step),       std::move(told.summary),
          std::move(throughput), std::move(memory),     std::move(links),
          std::move(nccl),       std::move(confidence), std::move(machine_links),
          told.averaging};
}

}  // namespace lockstep::app
