#include "tools/lockstep/run/run_render.hpp"

#include <fmt/format.h>

#include "tools/lockstep/run/run_json.hpp"
#include "tools/lockstep/run/run_row.hpp"
#include "tools/lockstep/run/run_tables.hpp"

namespace lockstep::cli {

std::string render_run(const RunOptions& options, const StepResult& result, Format format) {
  switch (format) {
    case Format::json:
      return json_of_run(options, result);
    case Format::csv:  // has no place for notes
      for (const ScenarioNote& note : result.scenario.notes)
        fmt::print(stderr, "note: {}\n", note.text());
      return render(row_of_run(result), Format::csv);
    case Format::md:
      return markdown_of(tables_of_run(options, result));
    case Format::table:
      return text_of(tables_of_run(options, result));
  }
  return {};
}

}  // namespace lockstep::cli
