#include <fmt/format.h>

#include <memory>

#include "tools/app/inputs/network_request.hpp"
#include "tools/app/inputs/scenario_file.hpp"
#include "tools/lockstep/command_parser.hpp"
#include "tools/lockstep/commands.hpp"
#include "tools/lockstep/errors.hpp"
#include "tools/lockstep/format_option.hpp"
#include "tools/lockstep/plot/figure_file.hpp"
#include "tools/lockstep/progress.hpp"
#include "tools/lockstep/rank_list.hpp"
#include "tools/lockstep/run/run_figures.hpp"
#include "tools/lockstep/run/run_options.hpp"
#include "tools/lockstep/run/run_render.hpp"

namespace lockstep::cli {

namespace {

struct Options {
  RunOptions run;
  std::string ranks;
  std::string window;
  std::vector<std::string> plots;
  Format format = Format::table;
};

Fidelity fidelity_of(const std::string& text) {
  if (text == "auto") return Fidelity::automatic;
  if (text == "all") return Fidelity::all_ranks;
  if (text == "representatives") return Fidelity::representatives;
  throw UsageError(
      fmt::format("--fidelity: expected auto, all or representatives, got \"{}\"", text));
}

Folding folding_of(const std::string& text) {
  if (text == "auto") return Folding::automatic;
  if (text == "off") return Folding::off;
  throw UsageError(fmt::format("--fold: expected auto or off, got \"{}\"", text));
}

StepRequest request_of(const Options& given) {
  StepRequest out = given.run.step;
  out.file = scenario_file(out.file);
  out.simulation.fidelity = fidelity_of(given.run.fidelity);
  out.simulation.fold = folding_of(given.run.fold);
  if (given.run.classes && out.simulation.fold == Folding::automatic)
    out.simulation.fold = Folding::always;
  out.simulation.speeds = parse_rank_speeds(given.run.rank_settings);
  out.simulation.network = NetworkRequest{given.run.network, {}}.parsed();
  out.on_progress = progress_line("run");
  if (out.trace.empty() && !(given.ranks.empty() && given.window.empty()))
    throw UsageError("--trace-ranks and --trace-window say what --trace FILE is to hold");
  if (!given.ranks.empty()) out.trace_ranks = parse_rank_list("--trace-ranks", given.ranks, 0);
  if (!given.window.empty()) out.trace_window = parse_window(given.window);
  return out;
}

void add_simulation(const Command& command, RunOptions& run) {
  command
      .add_option("--fidelity", run.fidelity,
                  "all: every rank and transfer on one network; representatives: one rank of each "
                  "role; auto: all where that is quick, folded or not")
      ->type_name("auto|all|representatives")
      ->capture_default_str();
  command
      .add_option("--network", run.network,
                  "fluid: max-min fair shares; alpha-beta: only ports limit; queue: whole "
                  "messages, first in first out")
      ->type_name("MODEL")
      ->capture_default_str();
  command
      .add_option("--calibration", run.step.calibration,
                  "Calibration file that overrides the shipped parameters: kernel times "
                  "of a box and, of several GPUs, its NVLinks; or what was fitted --from results")
      ->type_name("FILE");
  command.add_flag("--ignore-memory", run.step.ignore_memory,
                   "Simulate even if the memory of a rank does not fit");
}

void add_folding(const Command& command, RunOptions& run) {
  command
      .add_option("--fold", run.fold,
                  "auto: equivalent ranks are simulated once, to the same picosecond; off: "
                  "individually")
      ->type_name("auto|off")
      ->capture_default_str();
  command.add_flag("--classes", run.classes,
                   "Print the equivalence classes of ranks and how they differ");
  command
      .add_option("--set-rank", run.rank_settings,
                  "A rank that computes at another speed, as in --set-rank 17 compute=0.8; "
                  "repeatable")
      ->type_name("RANK compute=SPEED")
      ->allow_extra_args(false);
}

void add_trace(const Command& command, Options& given) {
  command
      .add_option("--trace", given.run.step.trace,
                  "Writes the step as a trace for ui.perfetto.dev: a track for each rank and "
                  "stream, flows from send to receive, memory")
      ->type_name("FILE");
  command
      .add_option("--trace-ranks", given.ranks,
                  "Ranks in the trace: 8, 0..15 or 0,8,16 (default: all that were simulated)")
      ->type_name("N,...");
  command
      .add_option("--trace-window", given.window,
                  "Only what touches this part of the step, such as \"10 ms..12.5 ms\"")
      ->type_name("A..B");
}

void add_plots(const Command& command, Options& given) {
  command
      .add_option("--plot", given.plots,
                  "Draw a figure of the step: pipeline, memory, breakdown or links; FILE ends in "
                  ".svg, .pdf or .png; the figure's name may be omitted if the file has it, such "
                  "as pipeline.svg; repeatable")
      ->type_name("FIGURE=FILE")
      ->allow_extra_args(false);
}

std::vector<FigureTarget> targets_of(const Options& given) {
  std::vector<FigureTarget> out;
  for (const std::string& text : given.plots)
    out.push_back(parse_figure_target(text, {run_figure_kinds()}));
  check_figure_targets(out);
  return out;
}

void run(Options& given) {
  const std::vector<FigureTarget> targets = targets_of(given);
  given.run.step = request_of(given);
  const StepResult result = run_step(given.run.step);
  print(render_run(given.run, result, given.format));
  for (const FigureTarget& target : targets) write_figure(run_figure(target.kind, result), target);
}

}  // namespace

void add_run(const Command& app) {
  const Command command = app.add_subcommand(
      "run", "Simulates a training step: its time, throughput, MFU, memory and where time goes");
  const auto given = std::make_shared<Options>();
  StepRequest& request = given->run.step;
  command
      ->add_option(
          "scenario", request.file,
          "Scenario file, such as configs/scenarios/llama3-70b-dgx-h100.json, or the name of a "
          "shipped one")
      ->required()
      ->type_name("SCENARIO");
  command
      ->add_option("--set", request.overrides,
                   "Override a scenario value, e.g. parallel.tp=4; repeatable")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  add_simulation(*command, given->run);
  add_folding(*command, given->run);
  add_trace(*command, *given);
  add_plots(*command, *given);
  add_format(*command, given->format);
  command->footer(
      "MFU counts the operations that the model needs, HFU also those that are done again, both\n"
      "over the GPUs' dense peak. A plan that does not fit into memory ends with exit code 1.\n\n"
      "Examples:\n"
      "  lockstep run configs/scenarios/mlp-two-gpus.json\n"
      "  lockstep run configs/scenarios/llama7b-256.json --set parallel.tp=4 --set parallel.dp=16 "
      "--format json\n"
      "  lockstep run configs/scenarios/zero-7b5-3.json --set-rank 17 compute=0.8 --classes");
  command->callback([given] { run(*given); });
}

}  // namespace lockstep::cli
