#pragma once

#include "tools/lockstep/parser/command_parser.hpp"

namespace lockstep::cli {

/// Adds `strategy` to `lockstep verify`.
void add_verify_strategy(const Command& verify);

}  // namespace lockstep::cli
