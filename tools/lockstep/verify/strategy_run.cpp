#include "tools/lockstep/verify/strategy_run.hpp"

#include <fmt/format.h>

#include "sim/program/unroll.hpp"
#include "strategies/training/build_program.hpp"
#include "strategies/verification/verify_strategy.hpp"
#include "tools/lockstep/cluster_options.hpp"
#include "tools/lockstep/errors.hpp"
#include "tools/lockstep/progress.hpp"

namespace lockstep::cli {

namespace {

/// Numbers that all ranks hold over a step, 8 bytes each.
constexpr double kMostNumbers = 5e8;

[[nodiscard]] double numbers_held(const Program& program) {
  double out = 0;
  for (std::size_t i = 0; i < program.roles.size(); ++i) {
    const RoleProgram role = unroll(program, i);
    double held = 0;
    for (std::uint32_t k = 0; k < role.instances.size(); ++k) {
      held += static_cast<double>(local_elements(program.mesh, role.tensor(k)));
    }
    int players = 1;
    if (!program.roles[i].host) {
      players = program.mesh.ranks();
      for (const auto& [atom, at] : program.roles[i].fixed) {
        players /= program.mesh.atoms()[atom].size;
      }
    }
    out += held * players;
  }
  return out;
}

void check_size(const ShrunkPlan& plan) {
  const double numbers = numbers_held(build_program(plan.model, plan.parallel, plan.gpus_per_node));
  if (numbers <= kMostNumbers) return;
  throw UsageError(fmt::format(
      "{} ranks would hold {:.2g} numbers, and at most {:.0g} are executed; let the model and its "
      "degrees be shrunk (no --no-shrink, and no --set of what is large)",
      plan.parallel.ranks(), numbers, kMostNumbers));
}

/// "parallel.tp" of "parallel.tp=4".
[[nodiscard]] std::set<std::string> keys_of(const std::vector<std::string>& overrides) {
  std::set<std::string> out;
  for (const std::string& each : overrides) out.insert(each.substr(0, each.find('=')));
  return out;
}

[[nodiscard]] ShrunkPlan shrunk(const StrategyQuestion& question, const Scenario& scenario) {
  ShrinkLimits limits;
  limits.ranks = question.ranks;
  limits.kept = keys_of(question.overrides);
  limits.model = limits.degrees = question.shrinks;
  try {
    return shrink(scenario.model, scenario.parallel, scenario.cluster.cluster.gpus_per_node(),
                  limits);
  } catch (const NotShrinkable& error) {
    throw UsageError(error.what());
  }
}

[[nodiscard]] VerifiedPlan plan_of(const StrategyQuestion& question, std::string name,
                                   std::vector<std::string> variant, Scenario scenario) {
  ShrunkPlan plan = shrunk(question, scenario);
  check_size(plan);
  return {std::move(name), std::move(variant), std::move(scenario), std::move(plan), {}};
}

}  // namespace

std::string StrategyAnswer::refusal() const {
  for (const VerifiedPlan& plan : plans) {
    const std::string problem = plan.report.problem();
    if (problem.empty()) continue;
    const std::string name = plan.name.empty() ? plan.scenario.name : plan.name;
    return fmt::format("{}: {}", name, problem);
  }
  return {};
}

StrategyAnswer verify_scenario(const StrategyQuestion& question) {
  StrategyAnswer out;
  Scenario scenario = load_scenario(question.file, question.overrides, config_folder());
  const std::vector<ScenarioVariant> variants = scenario.variants;
  out.plans.push_back(plan_of(question, "", {}, std::move(scenario)));
  for (const ScenarioVariant& variant : variants) {
    out.plans.push_back(
        plan_of(question, variant.name, variant.overrides,
                load_variant(question.file, variant, question.overrides, config_folder())));
  }
  out.seed = question.seed.value_or(out.plans.front().scenario.seed);
  VerificationOptions options;
  options.steps = question.steps;
  options.seed = out.seed;
  options.float32 = question.float32;
  options.nccl_tuning = question.nccl_tuning;
  Progress progress("verify", out.plans.size());
  for (VerifiedPlan& plan : out.plans) {
    plan.report =
        verify_strategy(plan.plan.model, plan.plan.parallel, plan.plan.gpus_per_node, options);
    progress.step();
  }
  return out;
}

}  // namespace lockstep::cli
