#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tools/app/campaign/campaign.hpp"
#include "tools/app/step/rank_speeds.hpp"
#include "tools/app/write_file.hpp"
#include "tools/lockstep/campaign/campaign_page.hpp"
#include "tools/lockstep/campaign/campaign_render.hpp"
#include "tools/lockstep/commands.hpp"
#include "tools/lockstep/host/host.hpp"
#include "tools/lockstep/jobs/jobs_options.hpp"
#include "tools/lockstep/options/format_option.hpp"
#include "tools/lockstep/options/number_option.hpp"
#include "tools/lockstep/output/errors.hpp"
#include "tools/lockstep/parser/command_parser.hpp"
#include "tools/lockstep/report/report_option.hpp"
#include "tools/lockstep/run/rank_speed_options.hpp"
#include "tools/lockstep/run/run_options.hpp"
#include "tools/lockstep/run/step_source.hpp"
#include "tools/lockstep/terminal/progress.hpp"

namespace lockstep::cli {

namespace {

struct Options {
  std::string scenario;
  std::vector<std::string> against;
  std::vector<std::string> overrides;  // of all scenarios
  std::vector<std::string> changes;    // of a second one, which is the first with them
  RunOptions given = none_given();     // changes of parts, fidelity and fold, of all scenarios
  bool ignore_memory = false;
  CampaignRequest campaign;
  JobsOptions jobs;
  bool details = false;
  std::string rows;
  std::string report;  // HTML file; empty: none
  OutputStyle style;
};

TrainingStepRequest step_of(const Options& given, const std::string& scenario, bool changed) {
  std::vector<std::string> overrides = given.overrides;
  if (changed) overrides.insert(overrides.end(), given.changes.begin(), given.changes.end());
  TrainingStepRequest out = step_source(scenario, overrides, given.given).options.step;
  out.ignore_memory = out.ignore_memory || given.ignore_memory;
  return out;
}

/// Errors in overrides, named by the option that gave them.
ConfigError in_own_words(const ConfigError& error, const Options& given) {
  const std::string set = "--set ";
  std::vector<Problem> problems = error.problems();
  for (Problem& each : problems) {
    if (!each.file.starts_with(set)) continue;
    const std::string assignment = each.file.substr(set.size());
    const auto is_in = [&](const std::vector<std::string>& list) {
      return std::ranges::find(list, assignment) != list.end();
    };
    if (is_in(given.changes)) each.file = "--change " + assignment;
    if (is_in(given.campaign.overrides)) each.file = "--set-campaign " + assignment;
  }
  return {std::move(problems), error.total()};
}

/// Of several jobs; --set is of the first.
void add_jobs_to(CampaignRequest& request, const Options& given) {
  if (!given.against.empty() || !given.changes.empty())
    throw UsageError("--job: jobs run together; --against and --change compare layouts of one job");
  if (changes_parts(given.given) || !given.given.fidelity.empty() || !given.given.fold.empty())
    throw UsageError(
        "--job: --set-rank, --gpu-speed, --set-link, --fail, --fidelity and --fold are of one job");
  const StepOf step_of = [&given](const std::string& text) {
    TrainingStepRequest out = step_source(text).options.step;
    out.ignore_memory = out.ignore_memory || given.ignore_memory;
    return out;
  };
  request.jobs = jobs_request(given.jobs, request.steps.front(), step_of);
  request.steps.clear();
}

/// Ranks are drawn with the seed of the campaign, if it has one.
RunOptions with_seed_of(const CampaignRequest& request, RunOptions given) {
  const auto ranges = parse_rank_speeds(given.gpu_speeds, given.rank_settings);
  const bool seeded = request.seed != kDefaultSeed;
  if (seeded && std::ranges::any_of(ranges, app::draws)) given.seed = request.seed;
  return given;
}

void campaign(Options& given) {
  CampaignRequest& request = given.campaign;
  given.given = with_seed_of(request, given.given);
  request.changes = part_changes_of(given.given);
  request.steps.push_back(step_of(given, given.scenario, false));
  if (!given.jobs.jobs.empty()) add_jobs_to(request, given);
  for (const std::string& each : given.against)
    request.steps.push_back(step_of(given, each, false));
  if (!given.changes.empty()) {
    request.labels.resize(request.steps.size());
    request.steps.push_back(step_of(given, given.scenario, true));
    request.labels.push_back(
        fmt::format("{} with {}", given.scenario, fmt::join(given.changes, ", ")));
  }
  if (!given.rows.empty()) check_writable(given.rows);
  check_report(given.report);
  request.on_phase = phase_line("campaign", "fewer --replicates take less");
  const auto done = [&] {
    try {
      return timed(
          [&] { return std::make_shared<const CampaignResult>(simulate_campaign(request)); });
    } catch (const ConfigError& error) {
      if (!request.jobs) throw;
      throw as_written(error, *request.jobs);
    }
  }();
  request.on_phase = {};  // ends its line
  const CampaignResult& result = *done;
  keep([&] { return Findings{[done] { return campaign_page(*done); }}; });
  if (!given.rows.empty()) write_file(given.rows, replicate_rows(result));
  if (!given.report.empty()) write_file(given.report, campaign_page(result));
  const CampaignReportOptions options{
      given.details || !given.style.is_table(),
      given.style.format == Format::md && result.outcomes.size() > 1};
  print(render(campaign_report(result, options), given.style));
}

void add_campaign_options(const Command& command, const std::shared_ptr<Options>& given) {
  CampaignRequest& request = given->campaign;
  command
      .add_option("--set", given->overrides,
                  "Override a scenario value, e.g. parallel.tp=4, of all scenarios; repeatable")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  command
      .add_option("--set-campaign", request.overrides,
                  "Override a value of the campaign, e.g. checkpoint.interval=young or "
                  "policy=rollback; repeatable")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  command
      .add_option("--against", given->against,
                  "Another scenario to compare with, under the same failures; repeatable")
      ->type_name("SCENARIO|RESULT|POINT")
      ->allow_extra_args(false);
  command
      .add_option("--change", given->changes,
                  "Compare with the scenario with this value changed, under the same failures; "
                  "repeatable for several values of one change")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  command.add_flag("--ignore-memory", given->ignore_memory,
                   "Simulate even if a rank needs more memory than its GPU has");
  add_whole_number(
      command, "--replicates", 1, kMostReplicates,
      [&request](auto n) { request.replicates = static_cast<std::size_t>(n); },
      "Number of simulated campaigns (default: 1000)");
  add_whole_number(
      command, "--seed", 0, INT64_MAX, [&request](auto n) { request.seed = n; },
      "Seed of random draws, also of ranks and speeds (default: 1)");
  add_whole_number(
      command, "--threads", 1, 1024,
      [&request](auto n) { request.threads = static_cast<std::size_t>(n); },
      "Number of threads; results do not depend on it (default: one for each core)");
}

}  // namespace

void add_campaign(const Command& app) {
  const Command command = app.add_subcommand(
      "campaign", "Simulate the days, money and energy of a whole training with failures");
  const auto given = std::make_shared<Options>();
  add_step_source(*command, given->scenario);
  command
      ->add_option(
          "campaign", given->campaign.file,
          "Campaign file (causes of failure, checkpoints, costs), or name of a shipped one")
      ->required()
      ->type_name("CAMPAIGN");
  add_campaign_options(*command, given);
  command->group("Slow and failed parts");
  add_part_changes(*command, given->given);
  add_fidelity(*command, given->given.fidelity);
  add_fold(*command, given->given.fold);
  command->group("Several jobs");
  add_jobs(*command, given->jobs);
  command->group("Results");
  command
      ->add_option("--replicate-rows", given->rows,
                   "Write a line per replicate with its times in microseconds")
      ->type_name("FILE.csv");
  command->add_flag("--details", given->details,
                    "Print all times, causes and simulated checkpoint intervals");
  add_report_option(*command, given->report);
  add_format(*command, given->style);
  command->footer(
      "With --job, all jobs go through the campaign on one cluster: each at the pace that the\n"
      "traffic of those training at that time leaves it, with shared failures and spare nodes.\n"
      "Slow ranks and failed links are there in every step of the training, before the campaign's\n"
      "own slow GPUs. Failures of a GPU, node or switch are the same for all scenarios and "
      "policies with one\n"
      "seed, so that differences are not noise. Money and energy are unknown unless the campaign\n"
      "or the cluster has their inputs. configs/campaigns/README.md explains the model.\n\n"
      "Examples:\n"
      "  lockstep campaign llama7b-256 typical-failures --replicates 100\n"
      "  lockstep campaign llama7b-256 typical-failures --replicates 100 --change parallel.tp=4 "
      "--change parallel.dp=16\n"
      "  lockstep campaign llama7b-256 typical-failures --replicates 100 --fail rail3\n"
      "  lockstep campaign pipeline-1f1b typical-failures --job pipeline-1f1b --replicates 100 "
      "--set-campaign steps=100000");
  command->resets(given);
  command->callback([given, command] {
    for (const char* option : {"--place", "--gpus", "--steps"})
      if (given->jobs.jobs.empty() && command->count(option) > 0)
        throw UsageError(fmt::format("{} needs --job", option));
    try {
      campaign(*given);
    } catch (const ConfigError& error) {
      throw in_own_words(error, *given);
    }
  });
}

}  // namespace lockstep::cli
