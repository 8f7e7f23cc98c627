#include "tools/lockstep/format_option.hpp"

#include <string>

#include "tools/lockstep/command_parser.hpp"
#include "tools/lockstep/errors.hpp"

namespace lockstep::cli {

void add_format(const Command& command, Format& format) {
  command
      .add_option(
          "--format",
          [&format](const std::string& text) {
            if (text == "table") {
              format = Format::table;
            } else if (text == "json") {
              format = Format::json;
            } else if (text == "csv") {
              format = Format::csv;
            } else if (text == "md") {
              format = Format::md;
            } else {
              throw UsageError("--format: expected table, json, csv or md, got \"" + text + "\"");
            }
          },
          "table, json, csv or md")
      ->type_name("FORMAT")
      ->default_str("table");
}

}  // namespace lockstep::cli
