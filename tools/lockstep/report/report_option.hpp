#pragma once

#include <string>
#include <string_view>

#include "tools/lockstep/parser/command_parser.hpp"

namespace lockstep::cli {

/// --report FILE.html.
void add_report_option(const Command& command, std::string& file);

/// Checks before a long computation what writing would throw: UsageError if the file does not end
/// in .html, IoError. Empty: no report.
void check_report(const std::string& file, std::string_view option = "--report");

}  // namespace lockstep::cli
