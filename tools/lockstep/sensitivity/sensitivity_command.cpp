#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tools/app/errors.hpp"
#include "tools/app/sensitivity/find_value.hpp"
#include "tools/app/sensitivity/sensitivity.hpp"
#include "tools/app/write_file.hpp"
#include "tools/lockstep/commands.hpp"
#include "tools/lockstep/host/host.hpp"
#include "tools/lockstep/options/assertion.hpp"
#include "tools/lockstep/options/format_option.hpp"
#include "tools/lockstep/output/errors.hpp"
#include "tools/lockstep/parser/command_parser.hpp"
#include "tools/lockstep/report/report_option.hpp"
#include "tools/lockstep/report/report_page.hpp"
#include "tools/lockstep/run/run_row.hpp"
#include "tools/lockstep/run/step_source.hpp"
#include "tools/lockstep/sensitivity/sensitivity_page.hpp"
#include "tools/lockstep/sensitivity/sensitivity_render.hpp"
#include "tools/lockstep/terminal/progress.hpp"

namespace lockstep::cli {

namespace {

constexpr double kLeastLimit = 1.01;
constexpr double kMostLimit = 100;

struct Options {
  std::string scenario;
  std::vector<std::string> overrides;
  RunOptions given = none_given();  // changes of parts, seed and fidelity
  std::vector<std::string> figures;
  std::vector<std::string> spreads;
  std::string find;
  std::string wanted;
  double limit = 4;
  bool elasticities = false;
  bool layout = true;
  bool shipped_spreads = true;
  std::string report;  // HTML file; empty: none
  OutputStyle style;
};

/// "matmul rate=5%".
std::pair<std::string, double> spread_of(const std::string& text) {
  const auto wrong = [&] {
    return UsageError(fmt::format(
        "--spread: expected a parameter and a share above 0 and below 100 %, such as \"matmul "
        "rate=5%\", got \"{}\"",
        text));
  };
  const std::size_t equals = text.rfind('=');
  if (equals == std::string::npos || equals == 0) throw wrong();
  std::string number = text.substr(equals + 1);
  const bool percent = number.ends_with('%');
  if (percent) number = number.substr(0, number.find_last_not_of(" %") + 1);
  double value = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  if (error != std::errc{} || end != number.data() + number.size()) throw wrong();
  if (percent) value /= 100;
  if (!(value > 0 && value < 1)) throw wrong();
  return {text.substr(0, equals), value};
}

double limit_of(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < kLeastLimit ||
      value > kMostLimit)
    throw UsageError(fmt::format("--limit: expected a number from {} to {}, got \"{}\"",
                                 kLeastLimit, kMostLimit, text));
  return value;
}

/// A column may be written without its unit: "step_time" for step_time_s.
Assertion condition_of(const std::string& text, const TrainingStepResult& result) {
  const auto condition = app::parse_condition(text);
  if (!condition) return parse_assertion(text, "--for");
  const Report report = report_of_rows({}, rows_of_run(result, {}));
  const auto known = [&](const std::string& key) {
    return std::ranges::find(report.columns, key, &Column::key) != report.columns.end();
  };
  std::string key = condition->left;
  std::ranges::replace(key, ' ', '_');
  if (!known(key))
    for (const char* unit : {"_s", "_fraction", "_bytes", "_Bps"})
      if (known(key + unit)) {
        key += unit;
        break;
      }
  const std::string written = text.substr(text.find(condition->left) + condition->left.size());
  Assertion out = parse_assertion(key + " " + written, "--for");
  out.text = text;
  return out;
}

void find(const Options& given, const StepSource& source) {
  if (!given.figures.empty() || !given.spreads.empty() || given.elasticities)
    throw UsageError(
        "--find takes no --figure, --spread or --elasticities: it answers one question");
  FindValueRequest request{source.options.step, given.find, {}};
  std::optional<Assertion> condition;
  request.wanted = [&](const TrainingStepResult& result) {
    if (!condition) condition = condition_of(given.wanted, result);
    return holds_for(*condition, report_of_rows({}, rows_of_run(result, {})));
  };
  const FoundValue found = timed([&] { return find_value(request); });
  const Report report = found_value_report(found, part_changes_of(source.options), given.wanted);
  keep([&] { return Findings{[report] { return report_page(report, {}); }}; });
  note_idle_seed(given.given, found.now);
  print(render(report, given.style));
  if (!found.factor)
    throw Refusal(fmt::format("--find: no {} makes {}", found.figure.name, given.wanted));
}

void analyse(const Options& given, const StepSource& source) {
  SensitivityRequest request{source.options.step};
  request.figures = given.figures;
  request.limit = given.limit;
  request.ranges = !given.elasticities;
  request.layout = given.layout;
  request.shipped_spreads = given.shipped_spreads;
  for (const std::string& each : given.spreads) request.spreads.push_back(spread_of(each));
  request.on_progress = progress_line("sensitivity", "--elasticities or --figure NAME takes less");
  const auto done =
      timed([&] { return std::make_shared<const SensitivityResult>(sensitivity(request)); });
  const SensitivityResult& result = *done;
  request.on_progress = {};
  const std::string parts = part_changes_of(source.options);
  keep([&] {
    return Findings{
        [done, parts, ranges = request.ranges] { return sensitivity_page(*done, parts, ranges); },
        sensitivity_figure_kinds(*done),
        [done](const std::string& kind, const figures::FigureStyle& style) {
          return sensitivity_figure(kind, *done, style);
        }};
  });
  note_other_result(source, result.step);
  note_idle_seed(given.given, result.step);
  if (!given.report.empty())
    write_file(given.report, sensitivity_page(result, parts, request.ranges));
  print(render_sensitivity(result, parts, request.ranges, given.style));
}

}  // namespace

void add_sensitivity(const Command& app) {
  const Command command = app.add_subcommand(
      "sensitivity", "How a training step depends on every bandwidth, latency and rate");
  const auto given = std::make_shared<Options>();
  add_step_source(*command, given->scenario);
  command
      ->add_option("--set", given->overrides,
                   "Override a scenario value, e.g. parallel.tp=4; repeatable")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  command
      ->add_option(
          "--figure", given->figures,
          "A parameter such as \"nic bandwidth\" or \"matmul rate\"; repeatable (default: all "
          "that the step has)")
      ->type_name("NAME")
      ->allow_extra_args(false);
  command
      ->add_option(
          "--limit", [given](const std::string& text) { given->limit = limit_of(text); },
          "Ranges are searched from 1/N to N times the value, N from 1.01 to 100 (default: 4)")
      ->type_name("N");
  command->add_flag("--elasticities", given->elasticities,
                    "Elasticities alone, without ranges and knees: four simulations a parameter");
  command->add_flag("!--no-layout", given->layout, "Do not simulate changes of the layout");
  command
      ->add_option("--spread", given->spreads,
                   "Uncertainty of a parameter, e.g. \"matmul rate=5%\", instead of the one in "
                   "configs/validation/spreads.json; repeatable")
      ->type_name("NAME=SHARE")
      ->allow_extra_args(false);
  command->add_flag("!--no-spreads", given->shipped_spreads,
                    "Leave out how much of the step hangs on the uncertainty of each parameter");
  command
      ->add_option(
          "--find", given->find,
          "Find the least value of a parameter (the longest of a latency) that --for needs; "
          "exit code 1 if there is none")
      ->type_name("NAME");
  command
      ->add_option("--for", given->wanted,
                   "Condition on a column of `run --format csv`, e.g. 'step_time <= 10 s'")
      ->type_name("CONDITION");
  add_changed_simulation(*command, given->given);
  command->group("Output");
  add_report_option(*command, given->report);
  add_format(*command, given->style);
  command->footer(
      "Elasticities are slopes of simulated steps; a range ends where another operation gets onto\n"
      "the critical path or links are shared otherwise. Slow ranks and failed links are of all\n"
      "simulated steps.\n\n"
      "Examples:\n"
      "  lockstep sensitivity pipeline-1f1b --figure \"matmul rate\" --figure \"nvlink "
      "bandwidth\"\n"
      "  lockstep sensitivity zero-7b5-3 --find \"nic bandwidth\" --for 'step_time <= 10 s'\n"
      "  lockstep sensitivity pipeline-1f1b --elasticities --set-rank 1=0.8");
  command->resets(given);
  command->callback([given] {
    if (given->find.empty() != given->wanted.empty())
      throw UsageError("--find NAME and --for CONDITION go together");
    if (!given->find.empty() && !given->report.empty())
      throw UsageError("--report: --find answers with one line, which is no page");
    check_report(given->report);
    const StepSource source = step_source(given->scenario, given->overrides, given->given);
    if (given->find.empty())
      analyse(*given, source);
    else
      find(*given, source);
  });
}

}  // namespace lockstep::cli
