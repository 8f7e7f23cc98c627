#include <CLI/CLI.hpp>

#include "tools/lockstep/commands.hpp"

namespace lockstep::cli {

void add_topology(CLI::App& app) {
  app.add_subcommand("topology", "Shows a cluster");
}

}  // namespace lockstep::cli
