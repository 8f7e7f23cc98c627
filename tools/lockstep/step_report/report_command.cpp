#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tools/app/write_file.hpp"
#include "tools/lockstep/commands.hpp"
#include "tools/lockstep/options/number_option.hpp"
#include "tools/lockstep/options/sizes.hpp"
#include "tools/lockstep/output/errors.hpp"
#include "tools/lockstep/output/output.hpp"
#include "tools/lockstep/parser/command_parser.hpp"
#include "tools/lockstep/report/report_option.hpp"
#include "tools/lockstep/run/run_json.hpp"
#include "tools/lockstep/run/run_options.hpp"
#include "tools/lockstep/run/run_page.hpp"
#include "tools/lockstep/run/step_source.hpp"
#include "tools/lockstep/step_report/two_steps_page.hpp"
#include "tools/lockstep/terminal/progress.hpp"

namespace lockstep::cli {

namespace {

constexpr std::size_t kSuggestions = 6;
constexpr std::size_t kMostSuggestions = 100;

struct Options {
  TwoStepsOptions steps;
  std::string output;
  std::optional<std::size_t> suggestions;
  std::string data;  // size; empty: the default
};

/// A step and what it is compared with.
struct Simulated {
  RunOptions options;
  TrainingStepResult result;
};

Simulated simulated(StepSource source, std::optional<std::size_t> suggestions) {
  TrainingStepRequest& step = source.options.step;
  step.suggestions = suggestions.value_or(kSuggestions);
  step.suggests_if_quick = !suggestions;
  step.link_series = true;
  step.on_phase = phase_line("report", "--suggest 0 takes less");
  TrainingStepResult result = run_step(step);
  step.on_phase = {};  // ends its line
  note_other_result(source, result);
  return {std::move(source.options), std::move(result)};
}

void write_page(const std::string& file, const std::string& page) {
  write_file(file, page);
  print(fmt::format("{}: a page of {} KB, for any browser\n", file, (page.size() + 999) / 1000));
}

std::size_t budget_of(const Options& given) {
  return given.data.empty() ? kPageBudget
                            : static_cast<std::size_t>(size_option("--data", given.data).count());
}

void report_one(const Options& given) {
  const Simulated step = simulated(given.steps.first_step(), given.suggestions);
  note_idle_seed(given.steps.given, step.result);
  const auto variants = run_variants(step.options.step, step.result.scenario);
  write_page(given.output, run_page(step.options, step.result, variants, budget_of(given)));
}

void report_two(const Options& given) {
  if (given.suggestions) throw UsageError("--suggest: a report of two steps has no suggestions");
  const Simulated a = simulated(given.steps.first_step(), 0);
  const Simulated b = simulated(given.steps.second_step(), 0);
  note_idle_seed(given.steps.given, a.result, b.result);
  write_page(given.output,
             two_steps_page({a.options, a.result}, {b.options, b.result}, budget_of(given)));
}

}  // namespace

void add_report(const Command& app) {
  const Command command = app.add_subcommand(
      "report", "Write a training step, or two next to each other, as a page of one HTML file");
  const auto given = std::make_shared<Options>();
  add_two_steps(*command, given->steps,
                "Second step, to compare: the page has both and their differences");
  add_changed_simulation(*command, given->steps.given);
  add_classes(*command, given->steps.given);
  command->group("Output");
  command->add_option("-o,--output", given->output, "HTML file to write, e.g. run.html")
      ->required()
      ->type_name("FILE.html");
  add_whole_number(
      *command, "--suggest", 0, kMostSuggestions,
      [given](auto n) { given->suggestions = static_cast<std::size_t>(n); },
      "Number of changes of the layout to simulate for the suggestions of a page of one step "
      "(default: 6, for steps of more than 2 million simulated operations 0)");
  command
      ->add_option("--data", given->data,
                   "Size of the page without its script; the timeline and figures are thinned to "
                   "keep it, with notes (default: 700 KB)")
      ->type_name("SIZE");
  command->footer(
      "The page needs no network, reads without its script, and prints on paper; ? shows its "
      "keys.\n"
      "collective, complexity and plan write theirs with --report FILE.html, and so does run.\n"
      "Slow ranks and failed links are of the step, or of both.\n\n"
      "Examples:\n"
      "  lockstep report llama7b-256 -o run.html\n"
      "  lockstep report pipeline-1f1b --set-rank 1=0.8 -o slow.html\n"
      "  lockstep report llama7b-256 --change parallel.tp=4 --change parallel.dp=16 -o both.html\n"
      "  lockstep report pipeline-gpipe pipeline-1f1b -o both.html");
  command->resets(given);
  command->callback([given] {
    check_report(given->output, "--output");
    if (!given->steps.has_second()) return report_one(*given);
    try {
      report_two(*given);
    } catch (const ConfigError& error) {
      throw given->steps.as_written(error);
    }
  });
}

}  // namespace lockstep::cli
