#include "tools/lockstep/run/run_render.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <fstream>
#include <system_error>

#include "tools/app/errors.hpp"
#include "tools/lockstep/host/host.hpp"
#include "tools/lockstep/output/errors.hpp"
#include "tools/lockstep/run/run_json.hpp"
#include "tools/lockstep/run/run_row.hpp"
#include "tools/lockstep/run/run_tables.hpp"
#include "tools/lockstep/topology/link_text.hpp"

namespace lockstep::cli {

namespace {

/// CSV has no place for notes.
void print_notes(const TrainingStepResult& result, const std::vector<VariantResult>& variants) {
  for (const ScenarioNote& note : result.scenario.notes) print_note("note: " + note.text());
  for (const std::string& line : lines_of(result.link_changes, result.scenario.cluster.cluster))
    print_note("note: " + line);
  for (const VariantResult& each : variants)
    if (!each.problem.empty())
      print_note(fmt::format("note: variant {} cannot run: {}", each.name, each.problem));
}

std::string misfit_in_markdown(const MemoryShortfall& shortfall) {
  const RankMemory& memory = shortfall.memory;
  std::string out = fmt::format(
      "{}: does not fit\n\n| memory | |\n|---|---:|\n| needed | {} |\n| available | {} |\n| "
      "rank | {} |\n| fits | false |\n",
      shortfall.scenario->name, to_string(memory.needed()), to_string(*memory.capacity),
      rank_text(memory.rank, memory.role).substr(5));
  for (const FittingChange& each : shortfall.changes)
    out += fmt::format("| fits with --set {} | {} |\n", fmt::join(each.change, " --set "),
                       to_string(each.needed));
  return out;
}

std::string first_line_of_file(const std::string& path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return line;
}

}  // namespace

std::string render_run(const RunOptions& options, const TrainingStepResult& result,
                       const std::vector<VariantResult>& variants, const OutputStyle& style) {
  switch (style.format) {
    case Format::json:
      return json_of_run(options, result, variants);
    case Format::csv:
      print_notes(result, variants);
      return render(report_of_rows(options, rows_of_run(result, variants)), Format::csv);
    case Format::md:
      return markdown_of(tables_of_run(options, result, variants));
    case Format::table:
      return text_of(tables_of_run(options, result, variants), style);
  }
  return {};
}

std::string render_misfit(const RunOptions& options, const MemoryShortfall& shortfall,
                          Format format) {
  switch (format) {
    case Format::json:
      return json_of_misfit(options, shortfall);
    case Format::csv:
      return render(
          report_of_rows(options, {{{}, shortfall.scenario.get(), &shortfall.memory, nullptr}}),
          Format::csv);
    case Format::md:
      return misfit_in_markdown(shortfall);
    case Format::table:
      break;
  }
  return {};
}

void append_rows(const std::string& path, const Report& report) {
  std::string text = render(report, Format::csv);
  const std::size_t end = text.find('\n');
  const std::string heading = text.substr(0, end);
  const std::string there = first_line_of_file(path);
  if (!there.empty() && there != heading)
    throw UsageError(fmt::format(
        "--append: {} has other columns than this version writes; name a new file", path));
  if (!there.empty()) text.erase(0, end + 1);
  errno = 0;
  std::ofstream out(path, std::ios::app | std::ios::binary);
  out << text;
  out.flush();
  if (!out)
    throw IoError(fmt::format("cannot write {}: {}", path, std::generic_category().message(errno)));
}

}  // namespace lockstep::cli
