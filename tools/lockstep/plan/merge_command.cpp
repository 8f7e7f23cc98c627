#include "tools/app/plan/store/merge.hpp"

#include <memory>
#include <string>
#include <vector>

#include "tools/lockstep/commands.hpp"
#include "tools/lockstep/options/format_option.hpp"
#include "tools/lockstep/options/number_option.hpp"
#include "tools/lockstep/output/errors.hpp"
#include "tools/lockstep/output/version.hpp"
#include "tools/lockstep/parser/command_parser.hpp"
#include "tools/lockstep/plan/plan_figures.hpp"
#include "tools/lockstep/plan/plan_options.hpp"
#include "tools/lockstep/plan/plan_render.hpp"
#include "tools/lockstep/plot/figure_file.hpp"
#include "tools/lockstep/run/step_source.hpp"

namespace lockstep::cli {

namespace {

struct Options {
  MergeRequest merge;
  std::vector<std::string> plots;
  OutputStyle style;
};

std::vector<FigureTarget> figures_of(const Options& given) {
  std::vector<FigureTarget> out;
  for (const std::string& text : given.plots) {
    out.push_back(parse_figure_target(text, {plan_figure_kinds(), "front"}));
    if (out.back().kind == "heatmap")
      throw UsageError(
          "--plot heatmap: stores do not keep what became of each tp and pp; `lockstep plan --plot "
          "heatmap=FILE` draws it");
  }
  check_figure_targets(out);
  return out;
}

}  // namespace

void add_merge(const Command& app) {
  const Command command =
      app.add_subcommand("merge", "Merge the stores of a search's shards into one result");
  const auto given = std::make_shared<Options>();
  MergeRequest& merge = given->merge;
  command
      ->add_option("stores", merge.files, "Stores of `lockstep plan --store` or of another merge")
      ->type_name("FILE...")
      ->required();
  command
      ->add_option("-o,--output", merge.output,
                   "Store to write, of all points (default: none, the result is printed only)")
      ->type_name("FILE");
  add_whole_number(
      *command, "--threads", 1, 1024,
      [&merge](auto n) { merge.threads = static_cast<std::size_t>(n); },
      "Number of threads; results do not depend on it (default: one for each core)");
  command
      ->add_option("--plot", given->plots,
                   "Draw the front as `plan` does: front=FILE; FILE ends in .svg, .pdf or .png")
      ->type_name("FIGURE=FILE")
      ->allow_extra_args(false);
  add_format(*command, given->style);
  command->footer(
      "The result of all shards is that of the search in one piece. Shards are merged in any "
      "order\n"
      "and grouping; the same store twice counts once. Stores of another space, search or version\n"
      "are refused, and so are files that are changed since.\n\n"
      "Examples:\n"
      "  lockstep merge -o plan.db shard-1.db shard-2.db\n"
      "  lockstep merge shard-1.db shard-2.db --format csv");
  command->resets(given);
  command->callback([given] {
    given->merge.tool_version = kVersion;
    given->merge.read_changes = [](const std::string& json) {
      return part_changes(read_run_options(json, "store"));
    };
    const std::vector<FigureTarget> figures = figures_of(*given);
    const PlanResult result = app::merge_stores(given->merge);
    print(render(report_of(result), given->style));
    for (const FigureTarget& target : figures)
      write_figure(plan_figure(target.kind, result), target);
  });
}

}  // namespace lockstep::cli
