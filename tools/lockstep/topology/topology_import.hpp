#pragma once

#include "tools/lockstep/parser/command_parser.hpp"

namespace lockstep::cli {

/// `lockstep topology import`: what other tools say of a machine, as a cluster file.
void add_topology_import(const Command& topology);

}  // namespace lockstep::cli
