#include <fmt/format.h>

#include "sim/config/json/config_error.hpp"
#include "sim/config/json/json_values.hpp"
#include "strategies/measure/validation/evaluation_rule.hpp"
#include "strategies/measure/validation/reported_slowdown.hpp"
#include "strategies/measure/validation/scenario_of_run.hpp"
#include "strategies/models/count/count.hpp"
#include "strategies/stacks/cost_of.hpp"
#include "strategies/step/build_program.hpp"
#include "strategies/step/simulate.hpp"
#include "tools/app/inputs/cluster_request.hpp"
#include "tools/app/step/metrics/rank_memory.hpp"
#include "tools/app/step/metrics/steps_in_a_row.hpp"
#include "tools/app/step/metrics/throughput.hpp"
#include "tools/app/validate/compare.hpp"
#include "tools/app/validate/layer_times.hpp"

namespace lockstep::app {

namespace {

/// A step, or the forward passes of one.
enum class Passes : std::uint8_t { step, forward };

SimulatedTrainingStep simulated(const Scenario& scenario, const ValidateRequest& request,
                                Passes passes = Passes::step) {
  const Calibration calibration = calibration_of(request);
  const Cluster& cluster = scenario.cluster.cluster;
  const Device& device = scenario.cluster.device;
  const auto cost = cost_model(device, scenario.stack, scenario.sustained, config_folder(),
                               &calibration, scenario.parallel.ranks());
  SimulationOptions options;
  options.nccl_tuning = nccl_tuning_of(scenario.stack, config_folder());
  options.costs = calibration.collectives;
  const int per_node = cluster.gpus_per_node();
  auto program = std::make_shared<const Program>(
      passes == Passes::step ? build_program(scenario.model, scenario.parallel, per_node)
                             : build_forward_program(scenario.model, scenario.parallel, per_node));
  return simulate(std::move(program), scenario.parallel, cluster, device, *cost, options);
}

/// The model's own operations (products, attention, logits; nothing done again) at the peak of all
/// GPUs.
std::optional<double> seconds_at_peak(const Scenario& scenario) {
  const auto peak = scenario.cluster.device.peak(peak_precision(scenario.parallel.precision));
  if (!peak) return std::nullopt;
  const double flops = count_flops(scenario.model, flop_convention(scenario.parallel)).training() *
                       static_cast<double>(scenario.parallel.global_batch);
  return flops / (peak->per_second() * scenario.parallel.ranks());
}

std::optional<Bytes> capacity_of(const Scenario& scenario) {
  const auto& memory = scenario.cluster.device.memory;
  return memory ? std::optional{memory->size} : std::nullopt;
}

/// What rows have in common that differ in layout alone.
std::string layout_set_of(const MeasuredRun& run, const Scenario& scenario) {
  return fmt::format("{}/{}/{}/{}/{}", run.group, json_text(run.cluster), json_text(run.model),
                     scenario.parallel.global_batch, run.precision);
}

class Rows {
 public:
  Rows(const MeasuredRun& run, const ValidateRequest& request) : run_{run}, request_{request} {}

  [[nodiscard]] bool wants(ComparedQuantity quantity) const {
    return !request_.quantity || *request_.quantity == quantity;
  }
  [[nodiscard]] bool wants_any() const {
    return (run_.step_time && wants(ComparedQuantity::step_time)) ||
           (run_.layer_forward && wants(ComparedQuantity::layer_forward)) ||
           (run_.layer_backward && wants(ComparedQuantity::layer_backward)) ||
           (run_.peak_memory && wants(ComparedQuantity::peak_memory));
  }

  void add(ComparedQuantity quantity, double measured, double simulated, const Scenario& scenario) {
    if (!wants(quantity)) return;
    Comparison row;
    row.id = run_.origin.id;
    row.group = run_.group;
    row.quantity = quantity;
    row.measured = measured;
    row.simulated = simulated;
    row.assumed = !run_.origin.assumed.empty();
    row.core = run_.core;
    row.stack = scenario.stack;
    if (quantity != ComparedQuantity::peak_memory) row.reported_slowdown = reported_slowdown(run_);
    if (quantity == ComparedQuantity::step_time) {
      row.evaluation = evaluation_time(scenario);
      row.simulated += row.evaluation;
      row.layout_set = layout_set_of(run_, scenario);
      row.at_peak = seconds_at_peak(scenario);
      row.kind = run_kind_of(scenario);
    }
    row.simulated *= 1 + row.reported_slowdown;
    answer.rows.push_back(std::move(row));
  }

  void add_time(ComparedQuantity quantity, std::optional<Duration> measured,
                std::optional<Duration> simulated, const Scenario& scenario) {
    if (!measured || !wants(quantity)) return;
    if (simulated)
      add(quantity, measured->seconds(), simulated->seconds(), scenario);
    else
      answer.left_out.push_back(
          {run_.origin.id, run_.group, UnmodeledReason::missing_layer, {}, quantity});
  }

  void leave_out(const std::exception& error) {
    answer.left_out.push_back(unmodeled(run_.origin.id, run_.group, error));
  }

  ValidateResult answer{};

 private:
  /// Per step, s.
  [[nodiscard]] double evaluation_time(const Scenario& scenario) const {
    const auto evaluations = evaluations_of(run_);
    if (!evaluations) return 0;
    const SimulatedTrainingStep forward = simulated(scenario, request_, Passes::forward);
    return forward.timeline.end.since_start().seconds() *
           evaluation_passes_per_step(*evaluations, scenario.parallel.global_batch);
  }

  const MeasuredRun& run_;
  const ValidateRequest& request_;
};

void add_rows(const MeasuredRun& run, const ValidateRequest& request, Rows& rows) {
  const Scenario scenario = scenario_of(run, config_folder(), request.stack);
  const SimulatedTrainingStep step = simulated(scenario, request);
  // Measured times are those of many steps in a row.
  const Duration time =
      time_in_a_row(scenario.parallel, step.timeline).value_or(step.timeline.end.since_start());
  rows.add_time(ComparedQuantity::step_time, run.step_time, time, scenario);
  if (run.layer_forward || run.layer_backward) {
    const LayerTimes layer = layer_times(step.timeline);
    rows.add_time(ComparedQuantity::layer_forward, run.layer_forward, layer.forward, scenario);
    rows.add_time(ComparedQuantity::layer_backward, run.layer_backward, layer.backward, scenario);
  }
  if (run.peak_memory && rows.wants(ComparedQuantity::peak_memory)) {
    const Bytes needed = run.memory_is_reserved
                             ? most_reserved(step.timeline, capacity_of(scenario))
                             : worst_memory(step.timeline, std::nullopt).needed();
    rows.add(ComparedQuantity::peak_memory, static_cast<double>(run.peak_memory->count()),
             static_cast<double>(needed.count()), scenario);
  }
}

}  // namespace

std::vector<RequestProblem> problems_of(const std::exception& error) {
  if (const auto* request = dynamic_cast<const RequestError*>(&error)) return request->problems();
  const auto* config = dynamic_cast<const ConfigError*>(&error);
  if (config == nullptr) return {{"", error.what()}};
  std::vector<RequestProblem> out;
  for (const Problem& problem : config->problems())
    out.push_back({problem.pointer, problem.message});
  return out;
}

UnmodeledRow unmodeled(std::string id, std::string group, const std::exception& error) {
  return {std::move(id), std::move(group), UnmodeledReason::error, problems_of(error)};
}

ValidateResult compare_run(const MeasuredRun& run, const ValidateRequest& request) {
  Rows rows(run, request);
  if (!rows.wants_any()) return {};
  try {
    add_rows(run, request, rows);
  } catch (const ConfigError& error) {
    rows.leave_out(error);
  } catch (const ProgramStuck& error) {
    rows.leave_out(error);
  } catch (const TrainingStepTooLarge& error) {
    rows.leave_out(error);
  }
  return std::move(rows.answer);
}

}  // namespace lockstep::app
