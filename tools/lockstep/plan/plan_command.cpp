#include <fmt/format.h>

#include <charconv>
#include <memory>

#include "tools/app/plan/store/stored_plan.hpp"
#include "tools/app/write_file.hpp"
#include "tools/lockstep/commands.hpp"
#include "tools/lockstep/host/host.hpp"
#include "tools/lockstep/options/assertion.hpp"
#include "tools/lockstep/options/format_option.hpp"
#include "tools/lockstep/options/number_option.hpp"
#include "tools/lockstep/output/errors.hpp"
#include "tools/lockstep/output/interrupt.hpp"
#include "tools/lockstep/output/version.hpp"
#include "tools/lockstep/parser/command_parser.hpp"
#include "tools/lockstep/plan/as_written.hpp"
#include "tools/lockstep/plan/plan_emit.hpp"
#include "tools/lockstep/plan/plan_figures.hpp"
#include "tools/lockstep/plan/plan_jobs.hpp"
#include "tools/lockstep/plan/plan_options.hpp"
#include "tools/lockstep/plan/plan_render.hpp"
#include "tools/lockstep/plan/search_line.hpp"
#include "tools/lockstep/plot/figure_file.hpp"
#include "tools/lockstep/report/report_option.hpp"
#include "tools/lockstep/report/report_page.hpp"
#include "tools/lockstep/run/run_options.hpp"
#include "tools/lockstep/run/step_source.hpp"

namespace lockstep::cli {

namespace {

struct Options {
  PlanRequest plan;
  RunOptions run;  // changes of parts, seed and fidelity
  std::string store;
  bool resume = false;
  std::string pareto;
  std::string budget;
  std::string shard;
  std::string emit;
  std::vector<std::string> plots;
  std::vector<std::string> asserts;
  std::string page;          // HTML file; empty: none
  std::uint64_t shards = 0;  // of the jobs; 0: not given
  OutputStyle style;
};

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> out;
  std::size_t begin = 0;
  while (begin <= text.size() && !text.empty()) {
    const std::size_t comma = std::min(text.find(',', begin), text.size());
    out.push_back(text.substr(begin, comma - begin));
    begin = comma + 1;
  }
  return out;
}

/// Parses a search budget: a number of simulations ("200") or a time ("30 s", "5 min").
void parse_budget(const std::string& text, PlanRequest& request) {
  if (text.empty()) return;
  std::uint64_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error == std::errc{} && end == text.data() + text.size() && count > 0) {
    request.most_simulated = count;
    return;
  }
  std::string time = text;
  double factor = 1;
  const auto ends_with = [&](std::string_view unit) {
    return time.size() > unit.size() &&
           std::string_view{time}.substr(time.size() - unit.size()) == unit;
  };
  if (ends_with("min")) {
    time = time.substr(0, time.size() - 3);
    factor = 60;
    while (!time.empty() && time.back() == ' ') time.pop_back();
    time += " s";
  }
  if (const auto parsed = parse_duration(time); parsed && parsed->ps() > 0) {
    request.most_seconds = parsed->seconds() * factor;
    return;
  }
  throw UsageError(fmt::format(
      "--budget: expected a number of simulations such as 200, or a time such as \"30 s\" or "
      "\"5 min\", got \"{}\"",
      text));
}

/// Parses a shard: "3/8" is the third of eight.
void parse_shard(const std::string& text, PlanRequest& request) {
  if (text.empty()) return;
  const std::size_t slash = text.find('/');
  const auto whole = [](std::string_view of) -> std::optional<std::uint64_t> {
    std::uint64_t out = 0;
    const auto [end, error] = std::from_chars(of.data(), of.data() + of.size(), out);
    if (error != std::errc{} || end != of.data() + of.size()) return std::nullopt;
    return out;
  };
  const auto first = whole(std::string_view{text}.substr(0, slash));
  const auto count =
      slash == std::string::npos ? std::nullopt : whole(std::string_view{text}.substr(slash + 1));
  if (!first || !count || *first < 1 || *count < *first || *count > 1'000'000)
    throw UsageError(
        fmt::format("--shard: expected I/N with I from 1 to N, such as 3/8, got \"{}\"", text));
  request.shard = *first - 1;
  request.shards = *count;
}

void add_search(const Command& command, Options& given) {
  PlanRequest& plan = given.plan;
  command
      .add_option("--objective", plan.objective,
                  "Metric to optimize: step_time, tokens_per_s_per_gpu, mfu, days, gpu_hours, usd, "
                  "energy, gpus, memory, memory_margin (default: step_time)")
      ->type_name("METRIC");
  command
      .add_option("--pareto", given.pareto,
                  "Front of two or three metrics instead, e.g. step_time,memory")
      ->type_name("METRIC,METRIC...");
  command
      .add_option("--where", plan.where,
                  "Limit on a metric, e.g. 'memory_margin >= 4 GiB' or 'days <= 30'; repeatable")
      ->type_name("LIMIT")
      ->allow_extra_args(false);
  command
      .add_option("--no-rule", plan.rules_off,
                  "Rule that does not hold: nvlink_domain lets tp exceed a node")
      ->type_name("RULE")
      ->allow_extra_args(false);
  add_whole_number(
      command, "--top", 1, 1000, [&plan](auto n) { plan.top = static_cast<std::size_t>(n); },
      "Number of best layouts, each proved (default: 5)");
  command
      .add_option(
          "--budget", given.budget,
          "Limit on simulations or time, e.g. 200, \"30 s\" or \"5 min\"; the result then has "
          "the gap that remains")
      ->type_name("N|TIME");
  add_whole_number(
      command, "--threads", 1, 1024,
      [&plan](auto n) { plan.threads = static_cast<std::size_t>(n); },
      "Number of threads; results do not depend on it (default: one for each core)");
  command
      .add_option("--explain", plan.explain,
                  "Report on one layout, e.g. tp=8,pp=16: its row, or what refuses it and the "
                  "nearest layout that fits")
      ->type_name("KEY=VALUE,...");
  command
      .add_option("--current", plan.current,
                  "Scenario whose layout is put into the table (default: that of SCENARIO)")
      ->type_name("FILE");
  command
      .add_option("--calibration", plan.calibration,
                  "Calibration file of `calibrate --from` that overrides the shipped parameters")
      ->type_name("FILE");
}

void add_store(const Command& command, Options& given) {
  command
      .add_option(
          "--store", given.store,
          "SQLite file that takes every simulated layout (see `lockstep query`; FILE:rank1 is "
          "then a scenario of run, compare and their like); with "
          "--emit ENGINE, of all shards together (default there: plan.db)")
      ->type_name("FILE");
  command.add_flag("--resume", given.resume,
                   "Continue the search of --store, or begin it: nothing is simulated twice");
  command
      .add_option("--shard", given.shard,
                  "Part of the space, e.g. 3/8; `lockstep merge` joins the stores of all parts")
      ->type_name("I/N");
  add_whole_number(
      command, "--shards", 1, 1'000'000,
      [&given](auto n) { given.shards = static_cast<std::uint64_t>(n); },
      "Number of shards of such a script (default: one for each 30 million points, at least 16)");
}

void check_store(const Options& given, bool emits_jobs) {
  if (given.shards > 0 && !emits_jobs)
    throw UsageError(
        "--shards: the number of shards of --emit slurm, parallel or hyperqueue; one of them is "
        "--shard I/N");
  if (given.resume && given.store.empty() && !emits_jobs)
    throw UsageError("--resume: expected --store FILE, the search to continue");
  if (!given.store.empty() && !given.plan.explain.empty())
    throw UsageError("--store: --explain simulates single layouts, which no store takes");
}

/// Figures of a search need a layout that was found.
bool has_figures(const Options& given, const PlanResult& result) {
  return given.plan.explain.empty() && !result.rows.empty();
}

std::string page_of(const PlanResult& result, bool with_figures) {
  std::vector<PageFigure> drawn;
  if (with_figures)
    for (const std::string& kind : plan_figure_kinds())
      drawn.push_back({kind, [kind, &result](bool compact) {
                         return plan_figure(kind, result, {.prefix = kind, .compact = compact});
                       }});
  return report_page(report_of(result), drawn, KeptRows::first);
}

Findings findings_of(const Options& given, const std::shared_ptr<const PlanResult>& result) {
  const bool drawn = has_figures(given, *result);
  Findings out{[=] { return page_of(*result, drawn); }};
  if (!drawn) return out;
  out.figures = plan_figure_kinds();
  out.figure = [result](const std::string& kind, const figures::FigureStyle& style) {
    return plan_figure(kind, *result, style);
  };
  return out;
}

/// Launch flags or the scenario of the best layout.
void print_emitted(const EmitTarget& emit, const PlanResult& result) {
  const auto* framework = std::get_if<LaunchFramework>(&emit);
  print(framework != nullptr ? emitted(*framework, result) : emitted_scenario(result));
}
void add_to(Report& report, const EmitTarget& emit, const PlanResult& result) {
  if (const auto* framework = std::get_if<LaunchFramework>(&emit))
    add_emitted(*framework, result, report);
  else
    add_emitted_scenario(result, report);
}

/// To the host as parts of the space; else on a line.
std::function<void(const SearchProgress&)> search_progress(SearchLine& line) {
  Host* to = host();
  if (to == nullptr) return [&line](const SearchProgress& progress) { line.show(progress); };
  return [to](const SearchProgress& progress) {
    const std::uint64_t done = progress.enumerated ? progress.decided : progress.bounded;
    const auto all = static_cast<double>(std::max<std::uint64_t>(1, progress.points));
    to->show(app::WorkProgress{static_cast<std::size_t>(done),
                               static_cast<std::size_t>(progress.points),
                               progress.enumerated ? static_cast<double>(done) / all : 0,
                               progress.enumerated ? "deciding" : "bounding"});
  };
}

void run_and_print(Options& given, const std::optional<EmitTarget>& emit) {
  given.plan.changes = part_changes(given.run);
  given.plan.space.overrides = with_seed(given.plan.space.overrides, given.run);
  parse_budget(given.budget, given.plan);
  parse_shard(given.shard, given.plan);
  given.plan.pareto = split(given.pareto);
  if (!given.pareto.empty() && (given.plan.pareto.size() < 2 || given.plan.pareto.size() > 3))
    throw UsageError(fmt::format("--pareto: expected two or three metrics with commas, got \"{}\"",
                                 given.pareto));
  std::vector<FigureTarget> figures;
  for (const std::string& text : given.plots)
    figures.push_back(parse_figure_target(text, {plan_figure_kinds(), "front"}));
  check_figure_targets(figures);
  check_report(given.page);
  if (!given.plan.explain.empty() && (emit || !figures.empty()))
    throw UsageError("--explain: has neither --emit nor --plot; give one of them");
  const std::vector<Assertion> assertions = parse_assertions(given.asserts);
  if (!given.plan.explain.empty() && !assertions.empty())
    throw UsageError("--assert: is about the best layout, which --explain does not look for");
  const InterruptGuard interrupt;
  given.plan.stop = InterruptGuard::asked_to_stop();
  SearchLine line;
  given.plan.on_progress = search_progress(line);
  const auto found = timed([&] {
    return std::make_shared<const PlanResult>(
        given.store.empty()
            ? app::plan(given.plan)
            : app::plan_into_store({given.plan, given.store, given.resume, kVersion}));
  });
  const PlanResult& result = *found;
  keep([&] { return findings_of(given, found); });
  line.clear();
  if (!result.rows.empty() && result.rows.front().step)
    note_idle_seed(given.run, *result.rows.front().step);
  if (emit && given.style.format != Format::json) {
    print_emitted(*emit, result);
  } else {
    Report report = report_of(result);
    if (emit) add_to(report, *emit, result);
    print(render(report, given.style));
  }
  for (const FigureTarget& target : figures) write_figure(plan_figure(target.kind, result), target);
  if (!given.page.empty()) write_file(given.page, page_of(result, has_figures(given, result)));
  if (was_interrupted()) throw Interrupted();
  if (!assertions.empty()) check_assertions(assertions, report_of(result), AssertedRows::first);
}

void run(Options& given, const Command& command) {
  std::optional<EmitTarget> emit;
  if (!given.emit.empty()) emit = emit_target(given.emit);
  const JobEngine* engine = emit ? std::get_if<JobEngine>(&*emit) : nullptr;
  check_store(given, engine != nullptr);
  if (engine != nullptr) {
    if (!given.asserts.empty())
      throw UsageError("--assert: nothing is searched where --emit prints a script");
    print(job_script_of(command, *engine, {given.plan.space, given.store, given.shards}));
    return;
  }
  run_and_print(given, emit);
}

}  // namespace

void add_plan(const Command& app) {
  const Command command = app.add_subcommand(
      "plan", "Find the best parallel layouts of a model on a cluster, with a proof");
  const auto given = std::make_shared<Options>();
  add_space(*command, given->plan.space);
  add_space_file(*command, given->plan.space);
  command->group("Slow and failed parts");
  add_part_changes(*command, given->run);
  add_draw_seed(*command, given->run);
  command->group("Simulation");
  add_fidelity(*command, given->run.fidelity);
  command->group("Search");
  add_search(*command, *given);
  command->group("Cost and energy");
  add_prices(*command, given->plan.prices);
  command->group("Store and shards");
  add_store(*command, *given);
  command->group("Output");
  command
      ->add_option(
          "--emit", given->emit,
          "Print launch flags of the best layout instead: megatron, torchtitan, deepspeed "
          "or nemo, with a comment for what these cannot express; scenario: the best layout as a "
          "file for run; or, without searching, a script that searches in shards: slurm, parallel "
          "or hyperqueue")
      ->type_name("NAME");
  command
      ->add_option("--plot", given->plots,
                   "Draw the front (step time over memory, or the metrics of --pareto) or the "
                   "heatmap of tp and pp with refused cells named, or the rejections by rule; FILE "
                   "ends in .svg, .pdf or .png; without FIGURE= it is the front; repeatable")
      ->type_name("FIGURE=FILE")
      ->allow_extra_args(false);
  add_report_option(*command, given->page);
  add_assertions(*command, given->asserts, "'step_time_s < 12', of the best layout");
  add_format(*command, given->style);
  command->footer(
      "Every point of the space is dropped by a rule, by a lower bound on its memory or time, or\n"
      "simulated; the counts are printed. A space without a layout that fits ends with exit code "
      "1.\n"
      "Slow ranks and failed links are of every layout; each is also simulated without them.\n\n"
      "Examples:\n"
      "  lockstep plan --model llama3-8b --cluster dgx-h100 --nodes 2 --global-batch 64 --vary "
      "pp=1,2 --vary overlap=all\n"
      "  lockstep plan llama7b-256 --fix overlap=none --emit slurm --shards 100\n"
      "  lockstep plan llama7b-256 --fix overlap=none --fix zero=1 --explain tp=8,pp=4\n"
      "  lockstep plan pipeline-1f1b --fix overlap=none --fix zero=0 --fix micro_batch=1 "
      "--set-rank "
      "1=0.8");
  command->resets(given);
  command->callback([given, command] {
    try {
      run(*given, command);
    } catch (const ConfigError& error) {
      throw as_written(error, given->plan.space);
    }
  });
}

}  // namespace lockstep::cli
