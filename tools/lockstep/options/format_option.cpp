#include "tools/lockstep/options/format_option.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <stdexcept>
#include <string>

#include "tools/lockstep/output/errors.hpp"
#include "tools/lockstep/parser/command_parser.hpp"

namespace lockstep::cli {

namespace {

void add_color(const Command& command, const std::function<void(ColorMode)>& take) {
  command
      .add_option(
          "--color",
          [take](const std::string& text) {
            if (text == "auto") {
              take(ColorMode::automatic);
            } else if (text == "always") {
              take(ColorMode::always);
            } else if (text == "never") {
              take(ColorMode::never);
            } else {
              throw UsageError("--color: expected auto, always or never, got \"" + text + "\"");
            }
          },
          "Color the best, the limit and errors; auto: on a terminal, unless NO_COLOR is set")
      ->type_name("auto|always|never")
      ->default_str("auto");
}

void add_format_only(const Command& command, Format& format) {
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

std::string_view name_of(Format format) {
  switch (format) {
    case Format::table:
      return "table";
    case Format::json:
      return "json";
    case Format::csv:
      return "csv";
    case Format::md:
      return "md";
  }
  throw std::logic_error{"no such format"};
}

}  // namespace

void add_format(const Command& command, Format& format) {
  command.group("Output");
  add_format_only(command, format);
  add_color(command, [](ColorMode) {});  // of errors: main reads it
  command.group("");
}

void add_format(const Command& command, OutputStyle& style) {
  style.width = terminal_width();
  style.wraps_notes = has_terminal_width();
  style.color = has_color(ColorMode::automatic, STDOUT_FILENO);
  command.group("Output");
  add_format_only(command, style.format);
  command.add_flag("--wide", style.wide, "Show every column of the table, however wide");
  add_color(command, [&style](ColorMode mode) { style.color = has_color(mode, STDOUT_FILENO); });
  command.group("");
}

void require_format(Format format, std::initializer_list<Format> allowed, std::string_view option,
                    std::string_view what) {
  if (std::find(allowed.begin(), allowed.end(), format) != allowed.end()) return;
  std::string expected;
  for (std::size_t i = 0; i < allowed.size(); ++i)
    expected += fmt::format("{}{}",
                            i == 0                   ? ""
                            : i + 1 < allowed.size() ? ", "
                                                     : " or ",
                            name_of(allowed.begin()[i]));
  throw UsageError(fmt::format("{}: {} has no {}; expected --format {}", option,
                               format == Format::csv  ? "CSV"
                               : format == Format::md ? "Markdown"
                                                      : name_of(format),
                               what, expected));
}

}  // namespace lockstep::cli
