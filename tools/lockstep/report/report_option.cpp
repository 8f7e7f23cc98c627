#include "tools/lockstep/report/report_option.hpp"

#include <fmt/format.h>

#include "tools/app/write_file.hpp"
#include "tools/lockstep/output/app.hpp"
#include "tools/lockstep/output/errors.hpp"

namespace lockstep::cli {

void add_report_option(const Command& command, std::string& file) {
  command
      .add_option(
          "--report", file,
          "Write the results with all figures as a page: one HTML file that needs no network")
      ->type_name("FILE.html");
}

void check_report(const std::string& file, std::string_view option) {
  if (file.empty()) return;
  if (!file.ends_with(".html") && !file.ends_with(".htm"))
    throw UsageError(
        fmt::format("{}: \"{}\" does not end in .html, the one form of a report", option, file));
  check_writable(file);
}

}  // namespace lockstep::cli
