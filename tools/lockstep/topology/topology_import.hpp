#pragma once

namespace CLI {
class App;
}

namespace lockstep::cli {

/// `lockstep topology import`: what other tools say of a machine, as a cluster file.
void add_topology_import(CLI::App& topology);

}  // namespace lockstep::cli
