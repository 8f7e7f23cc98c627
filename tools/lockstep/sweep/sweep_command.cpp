#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <string>

#include "tools/app/sweep/sweep.hpp"
#include "tools/app/sweep/sweep_store.hpp"
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
#include "tools/lockstep/plan/plan_options.hpp"
#include "tools/lockstep/report/report_page.hpp"
#include "tools/lockstep/run/run_json.hpp"
#include "tools/lockstep/run/run_options.hpp"
#include "tools/lockstep/run/run_render.hpp"
#include "tools/lockstep/sweep/sweep_render.hpp"
#include "tools/lockstep/terminal/progress.hpp"

namespace lockstep::cli {

namespace {

struct Options {
  SweepRequest sweep;
  RunOptions run;
  SweepStoreRequest store;
  std::vector<std::string> asserts;
  OutputStyle style;
};

/// Rows of a store have the columns of tables, in all formats.
std::unique_ptr<SweepStore> store_of(Options& given, const Command& command) {
  SweepStoreRequest& store = given.store;
  if (store.file.empty()) {
    if (store.resume) throw UsageError("--resume: expected --store FILE, the sweep to continue");
    return nullptr;
  }
  if (!given.run.append.empty())
    throw UsageError("--append: --store keeps the rows; `lockstep query FILE SQL` prints them");
  store.tool_version = kVersion;
  store.asked = fmt::format("{}", fmt::join(command.given_words({"--store", "--resume", "--threads",
                                                                 "--format", "--wide", "--color"}),
                                            " "));
  RunOptions run = given.run;
  run.step = given.sweep.step;
  store.run = run_options_json(run).dump();
  auto out = std::make_unique<SweepStore>(store, SweepGrid{given.sweep.space});
  given.sweep.known = out->known();
  return out;
}

void run_and_print(Options& given, const Command& command) {
  const std::vector<Assertion> assertions = parse_assertions(given.asserts);
  SweepRequest& request = given.sweep;
  request.step = step_request_of(given.run);
  request.space.overrides = with_seed(request.space.overrides, given.run);
  given.run.step.overrides = request.space.overrides;
  if (!given.run.append.empty()) check_writable(given.run.append);
  const std::unique_ptr<SweepStore> store = store_of(given, command);
  const bool table = given.style.is_table() || given.style.format == Format::md || store;
  SweepRows rows{given.run, request.space.fix, table};
  SweepRows data{given.run, request.space.fix, false};
  const bool appends = !given.run.append.empty();
  const bool needs_data = appends || (!assertions.empty() && !store);
  request.on_point = [&](const SweepPoint& point) {
    rows.add(point);
    if (needs_data) data.add(point);
    if (store) store->add(point);
  };
  request.on_batch = [&store] {
    if (store) store->end_batch();
  };
  request.on_progress = progress_line("sweep", "fewer values of --vary take less");
  const InterruptGuard interrupt;
  request.stop = InterruptGuard::asked_to_stop();
  const SweepResult result = timed([&] { return app::sweep(request); });
  request.on_progress = {};
  if (store) store->finish();
  const Report report = rows.report(result);
  const Report all = needs_data ? data.report(result) : Report{};
  if (appends) append_rows(given.run.append, all);
  keep([&] { return Findings{[report] { return report_page(report, {}); }}; });
  print(rows.text(report, given.style));
  if (was_interrupted()) throw Interrupted();
  if (result.simulated == 0) throw Refusal("no point of the sweep fits into memory");
  if (!assertions.empty()) check_assertions(assertions, store ? report : all, AssertedRows::all);
}

}  // namespace

void add_sweep(const Command& app) {
  const Command command =
      app.add_subcommand("sweep", "Simulate a training step at every point of a grid of values");
  const auto given = std::make_shared<Options>();
  add_space(*command, given->sweep.space);
  command->group("What-ifs");
  add_what_ifs(*command, given->run);
  command->group("Simulation");
  add_simulation(*command, given->run);
  add_folding(*command, given->run);
  add_whole_number(
      *command, "--threads", 1, 1024,
      [given](auto n) { given->sweep.threads = static_cast<std::size_t>(n); },
      "Number of threads; results do not depend on it (default: one for each core)");
  command->group("Results");
  command
      ->add_option("--append", given->run.append,
                   "Append the rows to a CSV file, with a header if the file is new")
      ->type_name("FILE");
  command
      ->add_option("--store", given->store.file,
                   "SQLite file that takes the rows (see `lockstep query`); rows then have the "
                   "columns of tables in every format")
      ->type_name("FILE");
  command->add_flag("--resume", given->store.resume,
                    "Continue the sweep of --store, or begin it: no point is simulated twice");
  add_assertions(*command, given->asserts, "'step_time_s < 12', of every point");
  add_format(*command, given->style);
  command->footer(
      "A point is what `lockstep run` with --set of its values simulates; dp follows from the "
      "GPUs\n"
      "unless it is varied or set. Points that do not fit or are impossible are rows with their\n"
      "reason; CSV and JSON have all columns of `run`. `lockstep plan` finds the best of a space\n"
      "without simulating all of it.\n\n"
      "Examples:\n"
      "  lockstep sweep llama3-70b-dgx-h100 --vary cluster.nodes=8..32*2 --vary parallel.tp=4,8\n"
      "  lockstep sweep --model llama3-8b --cluster dgx-h100 --nodes 2 --global-batch 64 --fix "
      "zero=1 --fix tp=2 --vary micro_batch=1..4*2 --format csv");
  command->resets(given);
  command->callback([given, command] {
    try {
      run_and_print(*given, command);
    } catch (const ConfigError& error) {
      throw as_written(error, given->sweep.space);
    }
  });
}

}  // namespace lockstep::cli
