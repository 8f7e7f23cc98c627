#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tools/app/compare/compare_steps.hpp"
#include "tools/app/write_file.hpp"
#include "tools/lockstep/commands.hpp"
#include "tools/lockstep/compare/compare_render.hpp"
#include "tools/lockstep/host/host.hpp"
#include "tools/lockstep/options/format_option.hpp"
#include "tools/lockstep/options/number_option.hpp"
#include "tools/lockstep/output/errors.hpp"
#include "tools/lockstep/parser/command_parser.hpp"
#include "tools/lockstep/report/report_option.hpp"
#include "tools/lockstep/run/run_options.hpp"
#include "tools/lockstep/run/step_source.hpp"
#include "tools/lockstep/step_report/two_steps_page.hpp"
#include "tools/lockstep/terminal/progress.hpp"

namespace lockstep::cli {

namespace {

struct Options {
  TwoStepsOptions steps;
  std::size_t shapley = kMostShapleyChanges;
  bool details = false;
  std::string report;
  OutputStyle style;
};

/// Of results, which record the options of their runs. A NIC speed is among the scenario's values.
bool options_differ(const RunOptions& a, const RunOptions& b) {
  return a.network != b.network || a.fidelity != b.fidelity || a.gpu_speeds != b.gpu_speeds ||
         a.rank_settings != b.rank_settings || a.step.links.set_links != b.step.links.set_links ||
         a.step.links.failed != b.step.links.failed || a.step.calibration != b.step.calibration;
}

void compare(const Options& given) {
  if (given.steps.given.classes)
    require_format(given.style.format, {Format::table, Format::md, Format::json}, "--classes",
                   "classes of ranks");
  if (!given.steps.has_second())
    throw UsageError(
        "compare: expected a second step: SCENARIO|RESULT|POINT, or --change KEY=VALUE or "
        "--set-rank 17=0.8 of the first");
  const StepSource first = given.steps.first_step();
  const StepSource second = given.steps.second_step();
  const RunOptions& a = first.options;
  const RunOptions& b = second.options;
  CompareRequest request{a.step, b.step, options_differ(a, b), given.shapley};
  request.same_fidelity = changes_parts(a) || changes_parts(b);
  request.on_phase = phase_line("compare", "--shapley 0 takes less");
  const auto compared =
      timed([&] { return std::make_shared<const CompareResult>(compare_steps(request)); });
  const CompareResult& result = *compared;
  request.on_phase = {};  // ends its line
  note_other_result(first, result.a);
  note_other_result(second, result.b);
  note_idle_seed(given.steps.given, result.a, result.b);
  keep([&] {
    return Findings{[a, b, compared] {
      return two_steps_page({a, compared->a}, {b, compared->b});
    }};
  });
  if (!given.report.empty()) write_file(given.report, two_steps_page({a, result.a}, {b, result.b}));
  const CompareReportOptions options{given.details || !given.style.is_table(), part_changes_of(a),
                                     part_changes_of(b), given.steps.given.classes};
  print(render_compare(result, options, given.style));
}

}  // namespace

void add_compare(const Command& app) {
  const Command command =
      app.add_subcommand("compare", "Explain why one training step takes longer than another");
  const auto given = std::make_shared<Options>();
  given->steps.parts_make_second = true;
  add_two_steps(*command, given->steps, "Second step");
  add_changed_simulation(*command, given->steps.given);
  add_classes(*command, given->steps.given);
  command->group("Output");
  add_whole_number(
      *command, "--shapley", 0, static_cast<std::int64_t>(kMostShapleyChanges),
      [given](auto n) { given->shapley = static_cast<std::size_t>(n); },
      "Maximum number n of changes attributed by Shapley values, by 2^n simulations; more are "
      "attributed in sequence; 0: none is attributed (default: 6)");
  command->add_flag("--details", given->details,
                    "Print all uses of the critical path, and its time by stage and block");
  command
      ->add_option("--report", given->report,
                   "Write both steps next to each other as a page of one HTML file")
      ->type_name("FILE.html");
  add_format(*command, given->style);
  command->footer(
      "Rows of a section add up to the difference of the step times exactly. Degrees and the size\n"
      "of the cluster are one change, a model is one, so that scenarios between are possible;\n"
      "those need not fit into memory. Slow ranks and failed links are of both steps; without a\n"
      "second step and --change, the second is the first with them.\n\n"
      "Examples:\n"
      "  lockstep compare llama7b-256 --change parallel.tp=4 --change parallel.dp=16\n"
      "  lockstep compare pipeline-gpipe pipeline-1f1b --details\n"
      "  lockstep compare pipeline-gpipe pipeline-1f1b --set-rank 1=0.8\n"
      "  lockstep compare zero-7b5-3 --nic 100G");
  command->resets(given);
  command->callback([given] {
    if (!given->report.empty()) check_report(given->report, "--report");
    try {
      compare(*given);
    } catch (const ConfigError& error) {
      throw given->steps.as_written(error);
    }
  });
}

}  // namespace lockstep::cli
