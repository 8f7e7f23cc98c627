#include <fmt/format.h>

#include <memory>
#include <optional>

#include "tools/app/write_file.hpp"
#include "tools/lockstep/commands.hpp"
#include "tools/lockstep/host/host.hpp"
#include "tools/lockstep/jobs/jobs_options.hpp"
#include "tools/lockstep/jobs/jobs_page.hpp"
#include "tools/lockstep/jobs/jobs_render.hpp"
#include "tools/lockstep/options/assertion.hpp"
#include "tools/lockstep/options/format_option.hpp"
#include "tools/lockstep/options/number_option.hpp"
#include "tools/lockstep/options/rank_list.hpp"
#include "tools/lockstep/options/trace_size_note.hpp"
#include "tools/lockstep/output/errors.hpp"
#include "tools/lockstep/parser/command_parser.hpp"
#include "tools/lockstep/plot/figure_file.hpp"
#include "tools/lockstep/report/report_option.hpp"
#include "tools/lockstep/run/run_figures.hpp"
#include "tools/lockstep/run/run_options.hpp"
#include "tools/lockstep/run/run_page.hpp"
#include "tools/lockstep/run/run_render.hpp"
#include "tools/lockstep/run/run_row.hpp"
#include "tools/lockstep/run/step_source.hpp"
#include "tools/lockstep/terminal/progress.hpp"

namespace lockstep::cli {

namespace {

struct Options {
  RunOptions run;
  std::string ranks;
  std::string window;
  std::optional<std::int64_t> suggestions;
  bool variants = true;
  std::string detail = "kernel";
  std::vector<std::string> plots;
  std::vector<std::string> asserts;
  JobsOptions jobs;
  OutputStyle style;
};

constexpr std::int64_t kSuggestions = 6;
constexpr std::int64_t kMostSuggestions = 100;

TraceDetail detail_of(const std::string& text) {
  if (text == "microbatch") return TraceDetail::microbatch;
  if (text == "layer") return TraceDetail::layer;
  if (text == "kernel") return TraceDetail::kernel;
  throw UsageError(
      fmt::format("--trace-detail: expected microbatch, layer or kernel, got \"{}\"", text));
}

/// The options given, on top of those of a result or a point: they override its own and add to its
/// overrides, slow ranks and changed links.
StepSource source_of(const Command& command, const RunOptions& given) {
  StepSource out = step_source(given.step.file, with_seed(given.step.overrides, given));
  RunOptions& of = out.options;
  const std::string changes = changes_of(given);
  if (command.count("--fidelity") > 0) of.fidelity = given.fidelity;
  if (command.count("--network") > 0) of.network = given.network;
  if (command.count("--fold") > 0) of.fold = given.fold;
  if (!given.step.calibration.empty()) of.step.calibration = given.step.calibration;
  of.step.ignore_memory = of.step.ignore_memory || given.step.ignore_memory;
  add_part_changes_of(given, of);
  of.classes = given.classes;
  of.append = given.append;
  of.report = given.report;
  of.step.trace = given.step.trace;
  of.step = step_request_of(of);
  if (!changes.empty()) out.is_as_written = false;
  return out;
}

/// Completes the request.
TrainingStepRequest request_of(const Options& given) {
  TrainingStepRequest out = given.run.step;
  const bool tables =
      given.style.is_table() || given.style.format == Format::md || !given.run.report.empty();
  out.suggestions = static_cast<std::size_t>(given.suggestions.value_or(tables ? kSuggestions : 0));
  out.suggests_if_quick = !given.suggestions;
  out.on_phase =
      phase_line("run", quicker_options(given.run, given.suggestions != 0, !out.trace.empty()));
  out.trace_detail = detail_of(given.detail);
  if (given.run.classes)
    require_format(given.style.format, {Format::table, Format::md, Format::json}, "--classes",
                   "classes of ranks");
  if (given.suggestions.value_or(0) > 0 && given.run.report.empty())
    require_format(given.style.format, {Format::table, Format::md, Format::json}, "--suggest",
                   "suggestions");
  if (out.trace.empty() &&
      !(given.ranks.empty() && given.window.empty() && given.detail == "kernel"))
    throw UsageError("--trace-ranks, --trace-window and --trace-detail need --trace FILE");
  if (!out.trace.empty())
    out.on_trace_size = trace_size_note(
        out.trace, "--trace-detail layer, --trace-ranks and --trace-window make it smaller");
  for (const std::string& file : {out.trace, given.run.append})
    if (!file.empty()) check_writable(file);
  check_report(given.run.report);
  out.link_series = !given.run.report.empty();
  if (!given.ranks.empty()) out.trace_ranks = parse_rank_list("--trace-ranks", given.ranks, 0);
  if (!given.window.empty()) out.trace_window = parse_window(given.window);
  return out;
}

void add_results(const Command& command, Options& given) {
  add_whole_number(
      command, "--suggest", 0, kMostSuggestions,
      [&given](auto n) { given.suggestions = static_cast<std::int64_t>(n); },
      "Number of changes of the layout to simulate for the suggestions of the headline, each about "
      "as long as the step itself; 0: none (default: 6, with json and csv 0, for steps of more "
      "than "
      "2 million simulated operations 0)");
  command.add_flag("!--no-variants", given.variants, "Do not run the scenario's variants");
  command
      .add_option("--append", given.run.append,
                  "Append the rows to a CSV file, with a header if the file is new")
      ->type_name("FILE");
  add_assertions(command, given.asserts, "'step_time_s < 12' or 'mfu_fraction >= 40 %'");
}

void add_trace(const Command& command, Options& given) {
  command
      .add_option("--trace", given.run.step.trace,
                  "Write the step as a trace for ui.perfetto.dev, compressed if FILE ends in .gz: "
                  "passes of microbatches, layers and kernels by rank, flows from send to receive, "
                  "memory and link counters")
      ->type_name("FILE");
  command
      .add_option("--trace-ranks", given.ranks,
                  "Ranks in the trace: 8, 0..15 or 0,8,16 (default: all that were simulated)")
      ->type_name("N,...");
  command
      .add_option("--trace-detail", given.detail,
                  "Finest slices of the trace: microbatch, layer or kernel; counters of memory and "
                  "links have at most 256, 1024 or 4096 points, with all peaks")
      ->type_name("DETAIL")
      ->capture_default_str();
  command
      .add_option("--trace-window", given.window,
                  "Time window of the trace, such as \"10 ms..12.5 ms\" (default: the whole step)")
      ->type_name("A..B");
}

void add_plots(const Command& command, Options& given) {
  command
      .add_option(
          "--plot", given.plots,
          "Draw a figure of the step: pipeline, memory, breakdown, links, path (the "
          "critical path), timeline (ranks and streams), topology or traffic (communication "
          "over time); FILE ends in .svg, .pdf or .png; without FIGURE= it is the figure "
          "that the file is named after, such as memory.svg, else pipeline; repeatable")
      ->type_name("FIGURE=FILE")
      ->allow_extra_args(false);
  add_report_option(command, given.run.report);
}

std::vector<FigureTarget> targets_of(const Options& given) {
  std::vector<FigureTarget> out;
  for (const std::string& text : given.plots)
    out.push_back(parse_figure_target(text, {run_figure_kinds(), "pipeline"}));
  check_figure_targets(out);
  return out;
}

/// A folded step has the loads of classes of links, not of links over time.
void note_missing_counters(const Options& given, const SimulatedTrainingStep& step) {
  if (given.run.step.trace.empty() || !step.links.empty() || step.classes.empty()) return;
  print_note(fmt::format(
      "lockstep: note: {}: no link counters, because equivalent ranks were folded; --fold off "
      "--fidelity all records them",
      given.run.step.trace));
}

/// The page of --report. It has suggestions, and the loads of links of a small step over time:
/// where these are not there, because no page was asked for, the step is simulated again.
std::string page_of(const RunOptions& run, std::optional<std::int64_t> suggestions,
                    const TrainingStepResult& step, const std::vector<VariantResult>& variants) {
  const bool has_loads = run.step.link_series || step.scenario.parallel.ranks() > app::kFewRanks;
  const auto wanted = static_cast<std::size_t>(suggestions.value_or(kSuggestions));
  if (has_loads && run.step.suggestions == wanted) return run_page(run, step, variants);
  TrainingStepRequest request = run.step;
  request.link_series = true;
  request.suggestions = wanted;
  request.suggests_if_quick = !suggestions;
  request.trace.clear();
  request.on_phase = phase_line("report", "--suggest 0 takes less");
  return run_page(run, run_step(request), variants);
}

Findings findings_of(const std::shared_ptr<const RunOptions>& run,
                     std::optional<std::int64_t> suggestions,
                     const std::shared_ptr<const TrainingStepResult>& step,
                     const std::shared_ptr<const std::vector<VariantResult>>& variants) {
  return {[=] { return page_of(*run, suggestions, *step, *variants); }, run_figure_kinds(),
          [step](const std::string& kind, const figures::FigureStyle& style) {
            return run_figure(kind, *step, style);
          },
          step};
}

void run_and_print(Options& given, const StepSource& source,
                   const std::vector<FigureTarget>& targets) {
  const std::vector<Assertion> assertions = parse_assertions(given.asserts);
  try {
    const auto simulated =
        timed([&] { return std::make_shared<const TrainingStepResult>(run_step(given.run.step)); });
    const TrainingStepResult& result = *simulated;
    note_other_result(source, result);
    note_missing_counters(given, result.step);
    const auto kept = std::make_shared<std::vector<VariantResult>>();
    if (given.variants)
      *kept = timed([&] { return run_variants(given.run.step, result.scenario); });
    const std::vector<VariantResult>& variants = *kept;
    given.run.step.on_phase = {};  // ends its line
    const auto run = std::make_shared<const RunOptions>(given.run);
    keep_later([run, simulated, kept, suggestions = given.suggestions] {
      return findings_of(run, suggestions, simulated, kept);
    });
    if (!given.run.append.empty())
      append_rows(given.run.append, report_of_rows(given.run, rows_of_run(result, variants)));
    print_later(given.style, [run, simulated, kept, style = given.style] {
      return render_run(*run, *simulated, *kept, style);
    });
    for (const FigureTarget& target : targets)
      write_figure(run_figure(target.kind, result), target);
    if (!given.run.report.empty())
      write_file(given.run.report, run_page(given.run, result, variants));
    if (!assertions.empty())
      check_assertions(assertions, report_of_rows(given.run, rows_of_run(result, variants)),
                       AssertedRows::all);
  } catch (const DoesNotFit& misfit) {
    given.run.step.on_phase = {};
    const MemoryShortfall& shortfall = misfit.shortfall();
    if (!given.run.append.empty())
      append_rows(
          given.run.append,
          report_of_rows(given.run, {{{}, shortfall.scenario.get(), &shortfall.memory, nullptr}}));
    print(render_misfit(given.run, shortfall, given.style.format));
    if (!targets.empty())
      print_note("lockstep: note: --plot: nothing drawn, the step was not simulated");
    if (!given.run.report.empty())
      print_note("lockstep: note: --report: not written, the step was not simulated");
    throw;
  }
}

/// Of several jobs there is one table, and every rank is simulated.
void refuse_of_one_job(const Command& command) {
  for (const char* option : {"--fidelity", "--fold", "--classes"})
    if (command.count(option) > 0)
      throw UsageError(fmt::format(
          "{} is of one job: not with --job, where every rank is simulated individually", option));
  for (const char* option :
       {"--trace", "--plot", "--append", "--suggest", "--set-link", "--fail", "--calibration"})
    if (command.count(option) > 0)
      throw UsageError(fmt::format("{} is of one job: not with --job", option));
}

void run_jobs_and_print(const Options& given) {
  const std::vector<Assertion> assertions = parse_assertions(given.asserts);
  std::vector<RunOptions> jobs{given.run};
  app::JobsRequest request = jobs_request(given.jobs, given.run.step, [&](const std::string& text) {
    jobs.push_back(step_source(text).options);
    return jobs.back().step;
  });
  std::vector<std::string> changes;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    jobs[i].step.overrides = request.jobs[i].overrides;
    changes.push_back(changes_of(jobs[i]));
  }
  request.on_phase = phase_line("run", "fewer --steps take less");
  check_report(given.run.report);
  Report report;
  try {
    const auto done =
        timed([&] { return std::make_shared<const app::JobsResult>(app::run_jobs(request)); });
    const app::JobsResult& result = *done;
    report = jobs_report(result, changes);
    keep([&] { return Findings{[done, changes] { return jobs_page(*done, changes); }}; });
    if (!given.run.report.empty()) write_file(given.run.report, jobs_page(result, changes));
  } catch (const ConfigError& error) {
    throw as_written(error, request);
  }
  request.on_phase = {};  // ends its line
  print(render(report, given.style));
  if (!assertions.empty()) check_assertions(assertions, report, AssertedRows::all);
}

}  // namespace

void add_run(const Command& app) {
  const Command command = app.add_subcommand(
      "run", "Simulate a training step: time, throughput, MFU, memory and time breakdown");
  const auto given = std::make_shared<Options>();
  TrainingStepRequest& request = given->run.step;
  add_step_source(*command, request.file);
  command->group("Scenario");
  command
      ->add_option("--set", request.overrides,
                   "Override a scenario value, e.g. parallel.tp=4; repeatable")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  add_what_ifs(*command, given->run);
  command->group("Simulation");
  add_simulation(*command, given->run);
  add_folding(*command, given->run);
  add_classes(*command, given->run);
  command->group("Several jobs");
  add_jobs(*command, given->jobs);
  command->group("Trace and figures");
  add_trace(*command, *given);
  add_plots(*command, *given);
  command->group("Results");
  add_results(*command, *given);
  add_format(*command, given->style);
  command->footer(
      "MFU counts model FLOPs, HFU executed FLOPs with recomputation, both over the dense peak of\n"
      "all GPUs. A layout that does not fit into memory ends with exit code 1.\n\n"
      "Examples:\n"
      "  lockstep run configs/scenarios/mlp-two-gpus.json\n"
      "  lockstep run configs/scenarios/llama7b-256.json --set parallel.tp=4 --set parallel.dp=16 "
      "--format json\n"
      "  lockstep run configs/scenarios/zero-7b5-3.json --set-rank 17 compute=0.8 --classes\n"
      "  lockstep run configs/scenarios/llama7b-256.json --nic 200G --fail rail0/leaf0\n"
      "  lockstep run zero-7b5-3 --job \"pipeline-1f1b cluster.nodes=1\" --place spread");
  command->resets(given);
  command->callback([given, command] {
    if (!given->jobs.jobs.empty()) {
      refuse_of_one_job(*command);
      given->run = source_of(*command, given->run).options;
      run_jobs_and_print(*given);
      return;
    }
    for (const char* option : {"--place", "--gpus", "--steps"})
      if (command->count(option) > 0) throw UsageError(fmt::format("{} needs --job", option));
    const std::vector<FigureTarget> targets = targets_of(*given);
    const StepSource source = timed([&] { return source_of(*command, given->run); });
    given->run = source.options;
    given->run.step = request_of(*given);
    run_and_print(*given, source, targets);
  });
}

}  // namespace lockstep::cli
