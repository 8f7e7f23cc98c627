#include "strategies/training/scenario_checks.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "strategies/training/build_program.hpp"
#include "strategies/training/scenario_names.hpp"

namespace lockstep {
namespace {

/// A problem at a member of a section, or at the section where it is left out.
void note_in(ObjectReader& in, std::string_view section, std::string_view key,
             const std::string& message) {
  const auto at = in.optional(section);
  if (!at || key.empty() || !at->is_object()) return in.note(section, message);
  at->object([&](ObjectReader& members) {
    (void)members.all();
    members.note(key, message);
  });
}

/// Why this model cannot be spread so over this cluster, at the key that is to blame.
void note_plan_problems(ObjectReader& in, const WholePlan& plan) {
  const Cluster& cluster = plan.cluster.cluster;
  for (const PlanProblem& problem :
       plan_problems(plan.model, plan.parallel, cluster.ranks(), cluster.gpus_per_node())) {
    const std::size_t dot = std::min(problem.key.find('.'), problem.key.size());
    const std::string_view key = problem.key;
    note_in(in, key.substr(0, dot), key.substr(std::min(dot + 1, key.size())), problem.message);
  }
}

/// A GPU without such products cannot be asked for them, unless a rate stands for all.
void check_precision(ObjectReader& in, const WholePlan& plan) {
  const Device& device = plan.cluster.device;
  std::vector<std::string_view> possible;
  for (const auto& [name, dtype] : precision_names()) {
    const auto at = std::find(kPrecisionNames.begin(), kPrecisionNames.end(), name);
    if (!device.peak(static_cast<Precision>(at - kPrecisionNames.begin()))) continue;
    if (dtype == plan.parallel.precision) return;
    possible.push_back(name);
  }
  if (plan.sustained) return;
  const std::string message =
      fmt::format("{} has no products in {}; precision may be {}", in_quotes(device.id),
                  name_of(precision_names(), plan.parallel.precision), fmt::join(possible, ", "));
  note_in(in, "parallel", "precision", message);
}

double layers_of(const ModelConfig& model) {
  if (const auto* transformer = model.transformer()) {
    return static_cast<double>(transformer->layers);
  }
  const auto* mlp = std::get_if<MlpConfig>(&model.shape);
  return mlp == nullptr ? 64 : static_cast<double>(mlp->layers);  // ResNets have fewer blocks
}

/// So many calls of layers are more than a step can be written out with.
void check_length(ObjectReader& in, const WholePlan& plan) {
  constexpr double kMostCalls = 300'000;
  const double layers = layers_of(plan.model);
  const auto microbatches = static_cast<double>(plan.parallel.microbatches());
  if (layers * microbatches / plan.parallel.pp <= kMostCalls) return;
  note_in(in, "parallel", "global_batch",
          fmt::format("{} microbatches a step are more than can be simulated; a global_batch of "
                      "{} or a larger micro_batch would do",
                      plan.parallel.microbatches(),
                      static_cast<std::int64_t>(kMostCalls * plan.parallel.pp / layers) *
                          plan.parallel.micro_batch * plan.parallel.dp));
}

}  // namespace

void check_together(ObjectReader& in, const WholePlan& plan) {
  check_precision(in, plan);
  check_length(in, plan);
  note_plan_problems(in, plan);
}

}  // namespace lockstep
