#include "tools/app/step/run_step.hpp"

#include <algorithm>
#include <utility>

#include "sim/trace/summary_mean.hpp"
#include "strategies/step/build_program.hpp"
#include "tools/app/step/memory_check.hpp"
#include "tools/app/step/metrics/step_confidence.hpp"
#include "tools/app/step/prepared_step.hpp"
#include "tools/app/step/rank_speeds.hpp"
#include "tools/app/step/simulate_step.hpp"
#include "tools/app/step/trace_file.hpp"

namespace lockstep::app {

namespace {

constexpr std::size_t kLinksShown = 8;

/// What is reported of a step.
struct Reported {
  TrainingStepSummary summary;
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

/// A step of a fragment (none: one without), simulated.
SimulatedTrainingStep step_of_fragment(const PreparedTrainingStep& prepared,
                                       std::optional<int> fragment) {
  const ParallelConfig& parallel = prepared.scenario.parallel;
  const auto program = std::make_shared<const Program>(build_program(
      prepared.scenario.model, parallel, prepared.scenario.cluster.cluster.gpus_per_node(),
      {.ends_with_average = fragment.has_value(), .fragment = fragment.value_or(0)}));
  return simulate_step(prepared, parallel, program, unroll(*program));
}

/// The step; of parameter averaging, and of outer steps, the mean of `average_every`, of which only
/// the last averages, or one for each fragment. Places in a timeline are those in `step`'s.
Reported reported(const PreparedTrainingStep& prepared, const SimulatedTrainingStep& step) {
  Reported out{summarise(step.timeline), step.timeline.link_bytes, {}};
  const ParallelConfig& parallel = prepared.scenario.parallel;
  const std::int64_t every = parallel.average_every;
  if (!parallel.averages() || every == 1) return out;
  const TrainingStepSummary shown = out.summary;
  for (int fragment = 1; fragment < parallel.fragments; ++fragment) {
    const SimulatedTrainingStep other = step_of_fragment(prepared, fragment);
    out.summary = mean_summary(out.summary, summarise(other.timeline), fragment + 1, shown);
    out.link_bytes = mean_bytes(out.link_bytes, other.timeline.link_bytes, fragment + 1);
  }
  if (every == parallel.fragments) return out;
  const SimulatedTrainingStep without = step_of_fragment(prepared, std::nullopt);
  TrainingStepSummary summary = summarise(without.timeline);
  std::vector<Bytes> bytes = without.timeline.link_bytes;
  out.averaging = AveragingSteps{every, parallel.fragments, out.summary.step, summary.step};
  // The steps that average are all taken as their mean.
  for (std::int64_t fragment = 1; fragment <= parallel.fragments; ++fragment) {
    const std::int64_t steps = every - parallel.fragments + fragment;
    summary = mean_summary(summary, out.summary, steps, shown);
    bytes = mean_bytes(bytes, out.link_bytes, steps);
  }
  out.summary = std::move(summary);
  out.link_bytes = std::move(bytes);
  return out;
}

/// The step without the what-ifs of `changed_step`; none of an unchanged request.
std::optional<TrainingStepBaseline> baseline_of(const TrainingStepRequest& request,
                                                const SimulatedTrainingStep& changed_step,
                                                const RankSpeeds& speeds) {
  const bool changed = !request.speeds.empty() || !request.simulation.speeds.empty() ||
                       request.links.any() || request.nic;
  if (!changed || request.step_only) return std::nullopt;
  request.begin("simulating the unchanged step");
  TrainingStepRequest plain = request;
  plain.speeds.clear();
  plain.simulation.speeds.clear();
  plain.simulation.fidelity = changed_step.fidelity;
  plain.links = {};
  plain.nic.reset();
  plain.trace.clear();
  const PreparedTrainingStep prepared = prepare_step(plain);
  const SimulatedTrainingStep step = simulate_step(prepared);
  TrainingStepBaseline out{reported(prepared, step).summary.step};
  if (request.compares_ranks) out.classes = classes_against(changed_step, step, speeds);
  return out;
}

PerturbedHardware perturbed(const TrainingStepRequest& request, const RankSpeeds& speeds) {
  PerturbedHardware out;
  out.gpus = std::any_of(speeds.begin(), speeds.end(), [](const auto& each) {
    return each.second.speed != 1 || !each.second.windows.empty();
  });
  out.links = !request.links.set_links.empty();
  out.failed_links = !request.links.failed.empty();
  return out;
}

}  // namespace

TrainingStepResult run_step(const TrainingStepRequest& request) {
  ProgressCounter progress(request.on_progress, 5);
  request.begin("laying out the step");
  PreparedTrainingStep prepared = prepare_step(request);
  progress.step();
  check_memory(request, prepared);
  progress.step();
  request.begin("simulating the step");
  SimulatedTrainingStep step = simulate_step(prepared);
  progress.step();
  request.begin("summarizing the step");
  RankMemory memory = checked_memory(request, prepared, step);
  Reported reported_step = reported(prepared, step);
  const Duration time = reported_step.summary.step;
  if (!request.trace.empty()) {
    request.begin("writing the trace");
    write_trace(request, step);
  }
  progress.step();
  const Scenario& scenario = prepared.scenario;
  const Cluster& cluster = scenario.cluster.cluster;
  TrainingStepResult out{
      .scenario = scenario,
      .step = std::move(step),
      .summary = std::move(reported_step.summary),
      .throughput = throughput_of(scenario, *prepared.program, time),
      .memory = std::move(memory),
      .links = busiest_links(reported_step.link_bytes, time, cluster, kLinksShown),
      .link_changes = std::move(prepared.link_changes),
      .nccl = prepared.options.nccl_tuning.stem().string(),
      .options = prepared.options,
      .confidence = run_confidence(scenario, perturbed(request, prepared.options.speeds), time),
      .machine_links = std::move(prepared.machine_links),
      .averaging = reported_step.averaging};
  for (ScenarioNote& note : idle_windows(prepared.options.speeds, time))
    out.scenario.notes.push_back(std::move(note));
  out.drawn_ranks = drawn_ranks(request.speeds, scenario.parallel.ranks(), scenario.seed);
  out.baseline = baseline_of(request, out.step, out.options.speeds);
  out.fidelity_check = check_fidelity(request, scenario, out.step.fidelity);
  out.limits = limits_of(out.summary);
  out.provenance = step_provenance(scenario, *prepared.cost, out.step, out.summary);
  out.facts = cluster_facts(cluster);
  out.suggestions = suggestions_for(request, out);
  progress.step();
  return out;
}

}  // namespace lockstep::app
