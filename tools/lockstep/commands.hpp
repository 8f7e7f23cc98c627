#pragma once

namespace CLI {
class App;
}

/// One function per subcommand, in a file of its own: it adds the command's options to the parser
/// and what to do once they are read. They throw UsageError, Refusal, ConfigError or IoError.
namespace lockstep::cli {

void add_collective(CLI::App& app);
void add_topology(CLI::App& app);
void add_explain(CLI::App& app);
void add_complexity(CLI::App& app);
void add_schedule(CLI::App& app);
void add_replay(CLI::App& app);
void add_calibrate(CLI::App& app);
void add_run(CLI::App& app);
void add_list(CLI::App& app);
void add_validate(CLI::App& app);
void add_verify(CLI::App& app);

}  // namespace lockstep::cli
