#include "tools/app/plan/setting.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>

#include "sim/config/json/config_error.hpp"
#include "strategies/models/count/count.hpp"
#include "strategies/nccl/tuning_file.hpp"
#include "strategies/scenario/parallel/layout_problems.hpp"
#include "strategies/scenario/scenario_overlay.hpp"
#include "strategies/scenario/stack_values.hpp"
#include "strategies/stacks/cost_of.hpp"
#include "tools/app/inputs/config_folder.hpp"
#include "tools/app/step/metrics/throughput.hpp"
#include "tools/app/step/prepared_step.hpp"
#include "tools/app/step/rank_speeds.hpp"

namespace lockstep::app {

namespace {

[[nodiscard]] std::size_t place_of(int zero, bool pipelined) {
  return static_cast<std::size_t>(zero) * 2 + (pipelined ? 1 : 0);
}

/// Keys of layout_problems() that follow from shapes and groups alone.
[[nodiscard]] bool is_of_shapes(const std::string& key) {
  static constexpr std::array<std::string_view, 9> kPipeline{
      "parallel.dp",    "parallel.global_batch", "parallel.pp",
      "parallel.vpp",   "parallel.schedule",     "parallel.stages",
      "parallel.order", "parallel.zero",         "parallel.servers"};
  return std::find(kPipeline.begin(), kPipeline.end(), key) == kPipeline.end();
}

/// Whether the scenario of a setting has this key of `parallel`, of its objects from outside in.
[[nodiscard]] bool specifies(const PlanSpace& space, std::uint64_t setting,
                             std::initializer_list<std::string_view> keys) {
  JsonValue root = space.base.root;
  Overlay overlay;
  for (const std::string& each : space.setting_overrides(setting)) overlay.apply(each, root);
  const auto member = [](const JsonValue* of, std::string_view key) -> const JsonValue* {
    const auto* members = of == nullptr ? nullptr : of->get_if<JsonObject>();
    return members == nullptr ? nullptr : find_member(*members, key);
  };
  const JsonValue* at = member(&root, "parallel");
  for (const std::string_view key : keys) at = member(at, key);
  return at != nullptr;
}

/// Of a stack that has them.
[[nodiscard]] std::optional<BucketDefaults> bucket_of(const std::string& stack) {
  const std::filesystem::path stacks = std::filesystem::path{config_folder()} / "stacks";
  return find_software_stack(stacks, stack).bucket;
}

}  // namespace

void LayoutDefaults::apply(ParallelConfig& to) const {
  const bool offload = to.state.offload;
  to.state = parallel.state;
  to.state.offload = offload;
  to.precision = parallel.precision;
  to.recipe = parallel.recipe;
  to.form = parallel.form;
  to.token_counts = parallel.token_counts;
  to.gradient_messages_in_parts = parallel.gradient_messages_in_parts;
  to.pairs_recompute_experts = parallel.pairs_recompute_experts;
  to.gradient_passes = parallel.gradient_passes;
  to.shards = parallel.shards;
  to.scatter_gradients = parallel.scatter_gradients;
  to.reduce_gradients = parallel.reduce_gradients;
  to.reduce_replicas = parallel.reduce_replicas;
  take_gradients(to);
  to.bucket = parallel.bucket;
  to.bucket_form = {};
  if (bucket) take_bucket_of_stack(*bucket, specifies_bucket, to);
}

void LayoutDefaults::take_gradients(ParallelConfig& to) const {
  if (!specifies_gradients) take_gradients_of_shards(to);
}

PlanSetting::PlanSetting(const PlanSpace& space, std::uint64_t index,
                         const Calibration& calibration, const PartChanges& changes)
    : index_{index}, scenario_{scenario_of(space, index)} {
  apply(changes);
  std::exception_ptr problem;
  for (int zero = 0; zero <= 3; ++zero) {
    for (const bool pipelined : {false, true}) {
      std::vector<std::string> overrides{fmt::format("parallel.zero={}", zero)};
      if (pipelined) overrides.emplace_back("parallel.pp=2");
      if (pipelined && ranks() % 2 != 0) continue;
      try {
        Scenario of = scenario_of(space, index, overrides);
        if (changed_) of.cluster.cluster = *changed_;
        add_stack(of, calibration);
        defaults_[place_of(zero, pipelined)] = LayoutDefaults{
            std::move(of.parallel), of.stack, bucket_of(of.stack),
            specifies(space, index, {"bucket"}), specifies(space, index, {"state", "gradients"})};
      } catch (const ConfigError&) {
        // The stack has no such layouts; what is wrong with the scenario itself was thrown above.
        if (!problem) problem = std::current_exception();
      }
    }
  }
  if (costs_.empty() && problem) std::rethrow_exception(problem);
  const FlopCount count = count_flops(scenario_.model, flop_convention(scenario_.parallel));
  model_flops_ = count.training() * static_cast<double>(global_batch());
  samples_ = static_cast<double>(global_batch()) *
             (scenario_.model.reads_text() ? static_cast<double>(count.tokens) : 1);
  const auto peak = scenario_.cluster.device.peak(peak_precision(scenario_.parallel.precision));
  if (peak) peak_ = peak->per_second();
}

/// Layouts have all GPUs, so that their ranks are those of the cluster.
void PlanSetting::apply(const PartChanges& changes) {
  fidelity_ = changes.fidelity;
  speeds_ = rank_speeds(changes.speeds, {}, ranks(), scenario_.seed);
  for (const auto& [rank, speed] : speeds_) {
    highest_speed_ = std::max(highest_speed_, speed.speed);
    has_windows_ = has_windows_ || !speed.windows.empty();
  }
  if (!changes.links.any()) return;
  changed_ = scenario_.cluster.cluster;
  (void)apply_link_changes(changes.links, RoutePolicy::automatic, scenario_.seed, *changed_);
}

/// A chain of kernels takes at least its time over the highest speed, one of communication its
/// time. A kernel of at least a nanosecond is rounded to a picosecond.
Duration PlanSetting::with_ranks_as_they_are(Duration bound) const {
  constexpr double kRounding = 1e-3;
  if (highest_speed_ <= 1) return bound;
  const double ps = static_cast<double>(bound.ps()) / highest_speed_ * (1 - kRounding);
  return Duration::picoseconds(static_cast<std::int64_t>(ps));
}

void PlanSetting::add_stack(const Scenario& scenario, const Calibration& calibration) {
  if (costs_.contains(scenario.stack)) return;
  const Device& device = scenario.cluster.device;
  costs_.emplace(scenario.stack, cost_model(device, scenario.stack, scenario.sustained,
                                            config_folder(), &calibration, ranks()));
  TrainingStepRequest request;
  request.simulation.fidelity = fidelity_;
  SimulationOptions options = simulation_options(request, scenario, calibration.collectives);
  options.speeds = speeds_;
  tunings_.emplace(scenario.stack, load_nccl_tuning(options.nccl_tuning, options.costs));
  options_.emplace(scenario.stack, std::move(options));
  profiles_.emplace(scenario.stack, std::make_shared<ProfileCache>());
  simulated_.emplace(scenario.stack, std::make_shared<const SimulatedCluster>(
                                         changed_ ? *changed_ : scenario_.cluster.cluster,
                                         scenario_.cluster.device, options_.at(scenario.stack)));
}

std::optional<Bytes> PlanSetting::memory_capacity() const {
  const Device& device = scenario_.cluster.device;
  if (scenario_.ignore_memory || !device.memory) return std::nullopt;
  return device.memory->size;
}

const LayoutDefaults* PlanSetting::defaults(int zero, bool pipelined) const {
  const auto& of = defaults_[place_of(zero, pipelined)];
  return of ? &*of : nullptr;
}

std::vector<std::string> bound_notes(const std::vector<std::unique_ptr<PlanSetting>>& settings,
                                     const PartChanges& changes) {
  std::vector<std::string> out;
  double highest = 1;
  for (const auto& setting : settings) highest = std::max(highest, setting->highest_speed());
  if (highest > 1)
    out.push_back(fmt::format(
        "bounds are divided by {}, the speed of the fastest rank, so that fewer points are "
        "bounded away",
        highest));
  else if (!changes.speeds.empty())
    out.emplace_back("bounds are those of ranks at full speed: slower ones only take longer");
  if (changes.links.any())
    out.emplace_back(
        "bounds count no communication, as other links may have other routes and algorithms, so "
        "that fewer points are bounded away");
  return out;
}

SettingBounds::Bounds::Bounds(const PlanSetting& setting, const std::string& stack)
    : operations{setting.scenario().cluster.cluster,
                 setting.scenario().cluster.device,
                 setting.tuning(stack),
                 setting.scenario().parallel.algorithms,
                 {setting.options(stack).host_memory, setting.options(stack).host_link}},
      layouts{setting.scenario().model, setting.cost(stack), operations, setting.profiles(stack)} {
  // Other links may have other routes and other algorithms of collectives, which may be faster.
  if (setting.has_changed_links()) operations.leave_out_communication();
}

SettingBounds::Bounds& SettingBounds::both(const std::string& stack) {
  const auto found = bounds_.find(stack);
  if (found != bounds_.end()) return found->second;
  return bounds_.try_emplace(stack, setting_, stack).first->second;
}

const std::string& SettingBounds::shape_problem(const ParallelConfig& parallel) {
  fold::KeyBuilder key;
  key.add(placed_key(parallel)).add(parallel.shard_ranks).add(parallel.zero > 0 ? 1 : 0);
  const auto [found, is_new] = shapes_.try_emplace(key.key());
  if (!is_new) return found->second;
  for (const LayoutProblem& problem : layout_problems(setting_.scenario().model, parallel,
                                                      setting_.ranks(), setting_.gpus_per_node())) {
    if (!is_of_shapes(problem.key)) continue;
    found->second = problem.key.substr(problem.key.find('.') + 1);
    break;
  }
  return found->second;
}

}  // namespace lockstep::app
