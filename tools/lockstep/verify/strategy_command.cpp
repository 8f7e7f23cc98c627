#include "tools/lockstep/verify/strategy_command.hpp"

#include <fmt/format.h>

#include <memory>

#include "tools/app/inputs/cluster_request.hpp"
#include "tools/app/inputs/scenario_file.hpp"
#include "tools/lockstep/host/host.hpp"
#include "tools/lockstep/options/backend_option.hpp"
#include "tools/lockstep/options/format_option.hpp"
#include "tools/lockstep/options/number_option.hpp"
#include "tools/lockstep/output/errors.hpp"
#include "tools/lockstep/parser/command_parser.hpp"
#include "tools/lockstep/report/report_page.hpp"
#include "tools/lockstep/terminal/progress.hpp"
#include "tools/lockstep/verify/strategy_render.hpp"

namespace lockstep::cli {

namespace {

constexpr int kMostTrainedRanks = 4096;
constexpr int kMostSteps = 10'000;

struct Options {
  VerifyStrategyRequest request;
  std::string precision = "float64";
  bool whole = false;
  std::shared_ptr<BackendOption> backend = std::make_shared<BackendOption>();
  OutputStyle style;
};

void verify_strategy_of(const Options& given) {
  VerifyStrategyRequest request = given.request;
  request.file = scenario_file(request.file);
  request.shrinks = !given.whole;
  if (given.precision != "float64" && given.precision != "float32") {
    throw UsageError(
        fmt::format("--precision: expected float64 or float32, got \"{}\"", given.precision));
  }
  request.float32 = given.precision == "float32";
  const std::unique_ptr<Backend> device = given.backend->open();
  request.device = device.get();
  if (device != nullptr) request.devices = device->count();
  request.on_progress = progress_line("verify", "fewer --steps take less");
  const VerifyStrategyResult result = timed([&] { return verify_scenario(request); });
  const Report report = report_of(request, result);
  keep([&] { return Findings{[report] { return report_page(report, {}); }}; });
  print(render(report, given.style));
  if (const VerifiedLayout* wrong = result.first_wrong())
    throw Refusal(fmt::format("{}: {}", wrong->name.empty() ? wrong->scenario.name : wrong->name,
                              wrong->report.problem()));
}

void add_subject(const Command& command, const std::shared_ptr<Options>& given) {
  command
      .add_option("scenario", given->request.file,
                  "Scenario file, or the name of a shipped one; its variants are verified too")
      ->required()
      ->type_name("SCENARIO");
  command
      .add_option(
          "--set", given->request.overrides,
          "Override a scenario value, e.g. parallel.tp=4, and keep it from shrinking; repeatable")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  add_whole_number(
      command, "--ranks,-n", 2, kMostTrainedRanks,
      [given](auto n) { given->request.ranks = static_cast<int>(n); },
      "Maximum number of ranks after shrinking (default 32)");
  command.add_flag("--no-shrink", given->whole, "Execute the scenario's own model and degrees");
}

}  // namespace

void add_verify_strategy(const Command& verify) {
  const Command command = verify.add_subcommand(
      "strategy", "Train a shrunk scenario on real data and compare it with one device");
  const auto given = std::make_shared<Options>();
  add_subject(*command, given);
  add_whole_number(
      *command, "--steps", 1, kMostSteps,
      [given](auto n) { given->request.steps = static_cast<int>(n); },
      "Training steps (default 3)");
  command
      ->add_option("--precision", given->precision,
                   "float64: every weight within 1e-10; float32: with SGD, within 1e-5")
      ->type_name("float64|float32")
      ->capture_default_str();
  add_whole_number(
      *command, "--seed", 0, INT64_MAX, [given](auto n) { given->request.seed = n; },
      "Random seed of weights, data and execution order (default: the scenario's)");
  add_backend(
      *command, given->backend,
      "Backend that executes the strategy: host: command graphs in host memory; cuda: on GPUs, "
      "ranks distributed over them (default: the reference executor, also in simulated order)");
  add_format(*command, given->style);
  command->footer(
      "Executes the program that `run` simulates on every rank, collectives by their own "
      "transfers, and\n"
      "compares it with one device that processes the whole batch: the loss of each step, and at "
      "the end\n"
      "every copy of every weight. Then executes it in simulated order and compares memory to the "
      "byte.\n"
      "Exit code 1 if anything differs. Degrees given with --set must fill the cluster; reduce it "
      "with\n"
      "--set cluster.nodes.\n"
      "\n"
      "Examples:\n"
      "  lockstep verify strategy data-parallel-from-scratch\n"
      "  lockstep verify strategy configs/scenarios/zero-7b5-3.json --steps 2 --format json");
  command->resets(given);
  command->resets(given->backend);
  command->callback([given] { verify_strategy_of(*given); });
}

}  // namespace lockstep::cli
