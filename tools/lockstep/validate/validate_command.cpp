#include <fmt/format.h>

#include <memory>

#include "strategies/stacks/software_stack.hpp"
#include "tools/app/inputs/calibration_of.hpp"
#include "tools/app/inputs/cluster_request.hpp"
#include "tools/app/validate/residuals_text.hpp"
#include "tools/app/write_file.hpp"
#include "tools/lockstep/commands.hpp"
#include "tools/lockstep/host/host.hpp"
#include "tools/lockstep/options/format_option.hpp"
#include "tools/lockstep/options/number_option.hpp"
#include "tools/lockstep/output/errors.hpp"
#include "tools/lockstep/parser/command_parser.hpp"
#include "tools/lockstep/terminal/progress.hpp"
#include "tools/lockstep/validate/validate_render.hpp"

namespace lockstep::cli {

namespace {

struct Options {
  std::vector<std::string> files;
  ValidateRequest request;
  std::string quantity;
  std::string residuals;
  bool every_row = false;
  OutputStyle style;
};

ComparedQuantity quantity_of(const std::string& text) {
  if (const auto quantity = parse_compared_quantity(text)) return *quantity;
  std::string names;
  for (std::size_t i = 0; i < kComparedQuantities; ++i)
    names += fmt::format("{}{}", i > 0 ? ", " : "", to_string(static_cast<ComparedQuantity>(i)));
  throw UsageError(fmt::format("--quantity: expected one of {}, got \"{}\"", names, text));
}

ValidateRequest request_of(const Options& given) {
  ValidateRequest out = given.request;
  for (const std::string& file : given.files) out.files.emplace_back(file);
  if (!given.quantity.empty()) out.quantity = quantity_of(given.quantity);
  if (!out.stack.empty()) (void)find_software_stack(config_folder() + "/stacks", out.stack);
  (void)fitted_calibration_of(out.calibration);  // a wrong file is told at once, not row by row
  return out;
}

void add_choices(const Command& command, const std::shared_ptr<Options>& given) {
  command
      .add_option("--group", given->request.group,
                  "Simulate only the training runs of this group, or the table with this id")
      ->type_name("NAME");
  command.add_flag("--core", given->request.core,
                   "Simulate only the training runs of the short suite");
  command
      .add_option(
          "--quantity", given->quantity,
          "Only step_time, layer_forward, layer_backward, peak_memory, collective_time, "
          "bus_bandwidth, gemm_time, gemm_rate, attention_time, memory_rate, launch_time or "
          "kernel_time")
      ->type_name("NAME");
  add_whole_number(
      command, "--limit", 1, 1'000'000'000,
      [given](auto n) { given->request.limit = static_cast<std::size_t>(n); },
      "Maximum number of runs and tables");
  command
      .add_option("--stack", given->request.stack,
                  "Software stack of all runs (default: the row's, else by framework)")
      ->type_name("ID");
  command
      .add_option("--calibration", given->request.calibration,
                  "Calibration file that overrides the shipped parameters")
      ->type_name("FILE");
  command
      .add_option("--residuals", given->residuals,
                  "File to write step-time errors with the features of each run to; `run` computes "
                  "prediction intervals from it")
      ->type_name("FILE");
  command.add_flag("--rows", given->every_row,
                   "Print every row of tables (default: the worst ones)");
}

}  // namespace

void add_validate(const Command& app) {
  const Command command = app.add_subcommand(
      "validate", "Simulate published measurements and print the relative errors");
  const auto given = std::make_shared<Options>();
  command
      ->add_option("files", given->files,
                   "Files of measured training runs, collective tables and device tables "
                   "(configs/schema/measured.schema.json)")
      ->required()
      ->type_name("FILE...");
  add_choices(*command, given);
  add_format(*command, given->style);
  command->footer(
      "The scenario of a run is derived from its row alone; nothing is fitted. Errors are relative "
      "and\n"
      "signed: simulated / measured - 1. Overall errors are means over groups. Rows that cannot "
      "be\n"
      "modeled are listed with the reason. Where a run's notes say that its\n"
      "machine was \"N-M % slow\", simulated times are longer by the middle of that. Where a time "
      "is\n"
      "that of a whole run over its steps, as of MLPerf's GPT-3, they contain its evaluations.\n"
      "\n"
      "Examples:\n"
      "  lockstep validate tests/data/validation/runs.json\n"
      "  lockstep validate tests/data/validation/runs.json tests/data/validation/tables.json "
      "--quantity step_time --rows --format md");
  command->resets(given);
  command->callback([given] {
    ValidateRequest request = request_of(*given);
    request.on_progress =
        progress_line("validate", "--core, --group, --quantity or --limit compare less");
    const ValidateResult result = timed([&] { return validate(request); });
    if (!given->residuals.empty()) write_file(given->residuals, residuals_text(result.rows));
    print(render_validation(request, result, given->style, given->every_row));
  });
}

}  // namespace lockstep::cli
