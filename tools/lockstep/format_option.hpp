#pragma once

#include "tools/lockstep/output.hpp"

namespace CLI {
class App;
}

namespace lockstep::cli {

/// --format table|json|csv|md, the same on every command.
void add_format(CLI::App& command, Format& format);

}  // namespace lockstep::cli
