#include "tools/lockstep/command_line.hpp"

#include <string>
#include <string_view>
#include <vector>

#include "tools/lockstep/commands.hpp"
#include "tools/lockstep/output/errors.hpp"
#include "tools/lockstep/output/output.hpp"
#include "tools/lockstep/output/version.hpp"
#include "tools/lockstep/parser/command_parser.hpp"

namespace lockstep::cli {

int run_command_line(int argc, char** argv) {
  const CommandParser parser(
      "lockstep",
      "Simulate distributed training clusters: training steps and collectives, every transfer on "
      "every link.",
      std::string{"lockstep "} + kVersion,
      "Examples:\n"
      "  lockstep collective all_reduce --cluster configs/clusters/star.json --ranks 8 --algorithm "
      "ring -b 64M -e 64M\n"
      "  lockstep list algorithms\n"
      "\n"
      "Environment:\n"
      "  LOCKSTEP_CONFIGS       Folder of the configs, instead of the installed one\n"
      "  LOCKSTEP_CUDA_LIBRARY  CUDA backend to load, instead of the installed one\n"
      "\n"
      "Exit codes: 0 success, 1 negative result (does not fit, verification failed), 2 invalid "
      "input, 3 internal error, 4 failed write, 130 interrupted. `lockstep help WORD` explains "
      "commands, columns and concepts.");
  const Command app = parser.root();
  add_collective(app);
  add_topology(app);
  add_explain(app);
  add_complexity(app);
  add_schedule(app);
  add_replay(app);
  add_run(app);
  add_compare(app);
  add_sensitivity(app);
  add_campaign(app);
  add_report(app);
  add_trace_serve(app);
  add_sweep(app);
  add_plan(app);
  add_merge(app);
  add_query(app);
  add_calibrate(app);
  add_teach(app);
  add_list(app);
  add_validate(app);
  add_verify(app);
  add_completion(app);
  add_man(app);
  add_help(app);
  if (argc > 1 && std::string_view{argv[1]} == "__complete") {  // for the scripts of `completion`
    print(completions(app, {argv + 2, argv + argc}));
    return kDone;
  }
  if (const std::string text = parser.parse(argc, argv); !text.empty()) print(text);
  return kDone;
}

}  // namespace lockstep::cli
