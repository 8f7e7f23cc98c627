#pragma once

#include <initializer_list>
#include <string_view>

#include "tools/lockstep/output/output.hpp"
#include "tools/lockstep/parser/command_parser.hpp"

namespace lockstep::cli {

/// --format table|json|csv|md and --color auto|always|never, the same on every command.
void add_format(const Command& command, Format& format);

/// The same with --wide, for tables that omit columns. Width and color are those of stdout.
void add_format(const Command& command, OutputStyle& style);

/// Throws UsageError, "--classes: CSV has no classes of ranks; expected --format table or json",
/// where `format` is none of `allowed`: what `option` prints would be missing.
void require_format(Format format, std::initializer_list<Format> allowed, std::string_view option,
                    std::string_view what);

}  // namespace lockstep::cli
