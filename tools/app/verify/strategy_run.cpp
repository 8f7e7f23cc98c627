#include "tools/app/verify/strategy_run.hpp"

#include <fmt/format.h>

#include "sim/config/json/config_error.hpp"
#include "sim/program/unroll.hpp"
#include "strategies/stacks/cost_of.hpp"
#include "strategies/step/build_program.hpp"
#include "strategies/verification/verify_strategy.hpp"
#include "tools/app/errors.hpp"
#include "tools/app/inputs/cluster_request.hpp"
#include "tools/app/parallel.hpp"
#include "tools/app/step/metrics/throughput.hpp"

namespace lockstep::app {

namespace {

/// Numbers that all ranks hold over a step, 8 bytes each.
constexpr double kMostNumbers = 5e8;
/// Operations of all ranks and steps: about a minute and a half.
constexpr double kMostOperations = 2e11;

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

/// "8 ranks", "1 rank".
[[nodiscard]] std::string ranks_of(const ShrunkLayout& layout) {
  const int ranks = layout.parallel.ranks();
  return fmt::format("{} rank{}", ranks, ranks == 1 ? "" : "s");
}

void check_size(const ShrunkLayout& layout, int steps) {
  constexpr const char* kAdvice =
      "let the model and its degrees be shrunk: no --no-shrink, and no --set of what is large";
  const Program program = build_program(layout.model, layout.parallel, layout.gpus_per_node);
  const double numbers = numbers_held(program);
  if (numbers > kMostNumbers) {
    throw RequestError(
        fmt::format("{} would hold {:.2g} numbers, and at most {:.0g} are executed; {}",
                    ranks_of(layout), numbers, kMostNumbers, kAdvice));
  }
  // The reference does it all once more.
  const double operations = 2 * steps * hardware_flops(program);
  if (operations > kMostOperations) {
    throw RequestError(fmt::format(
        "{} would do {:.2g} operations in {} steps, and at most {:.0g} are executed; {}",
        ranks_of(layout), operations, steps, kMostOperations, kAdvice));
  }
}

/// Of parameter averaging that never comes to average, nothing would be said.
void check_steps(const ShrunkLayout& layout, int steps) {
  if (!layout.parallel.averages() || steps >= layout.parallel.average_every) return;
  throw RequestError(fmt::format("steps {}", steps),
                     fmt::format("parameters are averaged every {} steps; {} at least",
                                 layout.parallel.average_every, layout.parallel.average_every));
}

void check_optimizer(const Scenario& scenario) {
  if (scenario.parallel.state.optimizer != Optimizer::soap) return;
  throw RequestError(
      "parallel.state.optimizer: soap has times and memory, but its preconditioners are not "
      "executed; it may be sgd, momentum, adam or muon");
}

/// "parallel.tp" of "parallel.tp=4".
[[nodiscard]] std::set<std::string> keys_of(const std::vector<std::string>& overrides) {
  std::set<std::string> out;
  for (const std::string& each : overrides) out.insert(each.substr(0, each.find('=')));
  return out;
}

[[nodiscard]] ShrunkLayout shrunk(const VerifyStrategyRequest& request, const Scenario& scenario) {
  ShrinkLimits limits;
  limits.ranks = request.ranks;
  limits.kept = keys_of(request.overrides);
  limits.model = limits.degrees = request.shrinks;
  try {
    return shrink(scenario.model, scenario.parallel, scenario.cluster.cluster.gpus_per_node(),
                  limits);
  } catch (const NotShrinkable& error) {
    throw RequestError(error.what());
  }
}

[[nodiscard]] VerifiedLayout layout_of(const VerifyStrategyRequest& request, std::string name,
                                       std::vector<std::string> variant, Scenario scenario) {
  check_optimizer(scenario);
  ShrunkLayout layout = shrunk(request, scenario);
  check_size(layout, request.steps);
  check_steps(layout, request.steps);
  return {std::move(name), std::move(variant), std::move(scenario), std::move(layout), {}};
}

constexpr const char* kNcclTuning = "/nccl/2.30.json";

[[nodiscard]] VerificationOptions options_of(const VerifyStrategyRequest& request,
                                             const Scenario& scenario, std::uint64_t seed,
                                             ProgressCounter& progress) {
  VerificationOptions out;
  out.steps = request.steps;
  out.seed = seed;
  out.order_seed = seed;
  out.float32 = request.float32;
  out.device = request.device;
  out.devices = request.devices;
  out.after_step = [&progress] { progress.step(); };
  const Device& device = scenario.cluster.device;
  const std::string configs = config_folder();
  out.stage =
      VerificationStage{scenario.cluster.cluster, device,
                        cost_model(device, scenario.stack, scenario.sustained, configs),
                        request.nccl_tuning.empty() ? std::filesystem::path(configs + kNcclTuning)
                                                    : request.nccl_tuning};
  return out;
}

}  // namespace

const VerifiedLayout* VerifyStrategyResult::first_wrong() const {
  for (const VerifiedLayout& layout : layouts)
    if (!layout.report.problem().empty()) return &layout;
  return nullptr;
}

VerifyStrategyResult verify_scenario(const VerifyStrategyRequest& request) {
  VerifyStrategyResult out;
  Scenario scenario = load_scenario(request.file, request.overrides, config_folder());
  const std::vector<ScenarioVariant> variants = scenario.variants;
  out.layouts.push_back(layout_of(request, "", {}, std::move(scenario)));
  for (const ScenarioVariant& variant : variants) {
    try {
      out.layouts.push_back(
          layout_of(request, variant.name, variant.overrides,
                    load_variant(request.file, variant, request.overrides, config_folder())));
    } catch (const ConfigError& error) {
      out.impossible.push_back({variant.name, error.problems().front().message});
    } catch (const RequestError& error) {
      out.impossible.push_back({variant.name, error.what()});
    }
  }
  out.seed = request.seed.value_or(out.layouts.front().scenario.seed);
  ProgressCounter progress(request.on_progress,
                           out.layouts.size() * static_cast<std::size_t>(request.steps));
  const auto verify_one = [&](std::size_t i) {
    VerifiedLayout& layout = out.layouts[i];
    const VerificationOptions options = options_of(request, layout.scenario, out.seed, progress);
    layout.report = verify_strategy(layout.layout.model, layout.layout.parallel,
                                    layout.layout.gpus_per_node, options);
  };
  if (request.device == nullptr) {
    in_parallel(out.layouts.size(), verify_one);
  } else {  // one after the other: they share the device
    for (std::size_t i = 0; i < out.layouts.size(); ++i) verify_one(i);
  }
  return out;
}

}  // namespace lockstep::app
