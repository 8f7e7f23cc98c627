#pragma once

#include "tools/lockstep/parser/command_parser.hpp"

namespace lockstep::cli {

/// `lockstep topology import`: topologies of other tools as cluster files.
void add_topology_import(const Command& topology);

}  // namespace lockstep::cli
