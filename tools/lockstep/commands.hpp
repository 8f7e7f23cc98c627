#pragma once

#include <string>
#include <vector>

#include "tools/lockstep/parser/command_parser.hpp"

/// One function per subcommand, each in its own file: adds the command's options and its action to
/// the parser. The action throws UsageError, Refusal, ConfigError or IoError.
namespace lockstep::cli {

void add_collective(const Command& app);
void add_topology(const Command& app);
void add_explain(const Command& app);
void add_complexity(const Command& app);
void add_schedule(const Command& app);
void add_replay(const Command& app);
void add_calibrate(const Command& app);
void add_run(const Command& app);
void add_compare(const Command& app);
void add_sensitivity(const Command& app);
void add_campaign(const Command& app);
void add_report(const Command& app);
void add_trace_serve(const Command& app);
void add_plan(const Command& app);
void add_sweep(const Command& app);
void add_merge(const Command& app);
void add_query(const Command& app);
void add_teach(const Command& app);
void add_list(const Command& app);
void add_validate(const Command& app);
void add_verify(const Command& app);
void add_completion(const Command& app);
/// For the scripts of `completion`: candidates for the last of `words`, one per line.
[[nodiscard]] std::string completions(const Command& app, const std::vector<std::string>& words);
void add_man(const Command& app);
void add_help(const Command& app);

}  // namespace lockstep::cli
